public import Foundation
import Handstamp
public import HandstampCookies

extension CookieSite {
  /// A forum with old-style pages, below `baseURL`.
  public static func forum(_ baseURL: URL) -> CookieSite {
    let home = baseURL.appending(path: "", directoryHint: .isDirectory)
    return CookieSite(
      baseURL: home, loginCookie: "bbuserid", signInPath: "account.php",
      form: { name, password in
        WebForm(
          [
            .init("action", "login"), .init("username", name), .init("password", password), .init("next", "/index.php"),
          ], charset: .windows1252)
      },
      recognize: { response in
        guard let page = try? HTMLPage(windows1252: response.body) else { return .unknown }
        switch page.refusal {
        case .databaseDown, .closed: return .unavailable
        case .banned(let ban): return .refused(code: "banned", detail: Words.describe(ban, at: home.absoluteString))
        case .mustRegister: return .refused(code: "wrong_credentials", detail: nil)
        case .refused(let title, let text):
          // The only sign that all such pages share: they mention the password.
          let isPassword = text.lowercased().contains("password")
          return .refused(code: isPassword ? "wrong_credentials" : "refused", detail: "\(title): \(text)")
        case nil: break
        }
        guard let user = page.user else { return .unknown }
        return .success(Profile(id: AccountID(user.id), name: user.name))
      },
      signOut: { _ in TransportRequest(method: "GET", url: home.absoluteString + "account.php?action=logout") })
  }
}
