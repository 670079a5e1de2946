#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Shows that the right password of an account was typed in this browser, for the form that asks for the second factor:
///
///     <account in base64url>.<seconds since 1970 at which it expires>.<mac>
struct HalfSignIn: Sendable {
  /// In seconds.
  private static let life: Int64 = 600
  let registry: Registry

  func proof(of account: AccountRecord, in visit: BrowserRequest, at now: UnixTime) -> String {
    let expiry = now.seconds + HalfSignIn.life
    return "\(Base64URL.encode(Array(account.id.rawValue.utf8))).\(expiry).\(mac(account, expiry, visit))"
  }

  /// Returns the account, if it still has that password.
  func account(provenBy proof: String, in visit: BrowserRequest, at now: UnixTime) async throws -> AccountRecord? {
    let parts = proof.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let expiry = Int64(parts[1]),
      (now.seconds..<now.seconds + HalfSignIn.life + 1).contains(expiry),
      let id = Base64URL.decode(parts[0]).flatMap({ String(utf8Bytes: $0) }),
      let account = try await registry.account(AccountID(id)), account.closedAt == nil,
      Secret(String(parts[2])) == Secret(mac(account, expiry, visit))
    else { return nil }
    return account
  }

  private func mac(_ account: AccountRecord, _ expiry: Int64, _ visit: BrowserRequest) -> String {
    let hash = account.passwordHash?.withExposed { $0 } ?? ""
    return registry.mint.mac(of: "\(account.id) \(expiry) \(visit.formCookie) \(hash)", for: .halfSignIn)
  }
}
#endif
