public import Foundation
import HandstampSupport

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The data that a session clears at its end without a step of the app's.
///
/// The request cache is not among it: the session's own client keeps none. Nor is what other parts of the app may use: the domain above the
/// host, the whole of `URLCache.shared`, the default web store. The app writes such a step.
///
/// Where a session takes the place of another account's, the steps run before it is stored: the next user's web view must not be signed
/// in as the previous one. A program that is killed meanwhile has ended the one and not stored the other.
struct UsualCleanup {
  /// The session's server. Cookies and web data are a host's, whatever the port.
  let host: String?
  /// The account whose data it is.
  let account: @Sendable (EndedSession) -> AccountID?

  var steps: [CleanupStep] {
    var steps = [
      CleanupStep("account_preferences", .preferences) { [account] ended in
        guard let account = account(ended) else { return }
        CleanupStep.removePreferences(of: .standard, prefix: account.preferencesPrefix)
      }
    ]
    #if canImport(WebKit) && !os(watchOS)
    // With every plan: cookies that the session has lent are as good as its own. They have been taken back before any step runs, so
    // that only web views of the app's keep the store in use.
    steps.append(
      CleanupStep("account_web_data", .always) { [account] ended in
        guard let account = account(ended) else { return }
        try await WebData.remove(account.webDataIdentifier)
      })
    #endif
    guard let host else { return steps }
    return steps + shared(host)
  }

  private func shared(_ host: String) -> [CleanupStep] {
    var steps = [
      CleanupStep("host_cookies", .cookies) { _ in
        let jar = HTTPCookieStorage.shared
        for cookie in jar.cookies ?? [] where cookie.isOf(host) { jar.deleteCookie(cookie) }
      }
    ]
    #if canImport(WebKit) && !os(watchOS)
    steps.append(CleanupStep("host_web_data", .cookies) { _ in await WebData.remove(of: host) })
    #endif
    for place in steps.indices { steps[place].isShared = true }
    return steps
  }
}

extension HTTPCookie {
  /// Whether it was set for this host, and not for the domain above it.
  func isOf(_ host: String) -> Bool {
    (domain.hasPrefix(".") ? String(domain.dropFirst()) : domain).lowercased() == host
  }
}

extension AccountID {
  /// The beginning of the keys of this account's preferences in `UserDefaults.standard`, which a sign-out removes if its plan includes
  /// ``CleanupScope/preferences``. With ``Accounts``, use the account's ID in the list; otherwise its ID at the server.
  ///
  /// ```swift
  /// UserDefaults.standard.set("dark", forKey: account.preferencesPrefix + "theme")
  /// ```
  /// It contains a digest of the ID, so that no account's prefix is the beginning of another's.
  public var preferencesPrefix: String { "account.\(VaultInspection.digest(of: self))." }

  /// The identifier for a `WKWebsiteDataStore(forIdentifier:)` of this account alone, which every sign-out removes. No web view may use
  /// the store at that time: otherwise the step fails, and is repeated. The ID is that of ``preferencesPrefix``.
  public var webDataIdentifier: UUID {
    let digits = Array(VaultInspection.digest(of: self).prefix(32))
    let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
    // 32 hexadecimal digits in this form are always a UUID.
    return UUID(uuidString: groups.joined(separator: "-")) ?? UUID()
  }
}

/// Where a session's end meets other accounts.
struct Neighbours: Sendable {
  let host: String
  /// Restores the sessions of the program's other accounts.
  var restore: @Sendable () async -> Void = {}
}

/// The sessions of this process, so that the end of one leaves what another uses as well.
enum OpenSessions {
  private struct Entry: Sendable {
    let host: String
    weak let controller: SessionController?
  }
  private static let entries = Locked<[Entry]>([])

  static func add(_ controller: SessionController, at host: String) {
    entries.withLock { entries in
      entries.removeAll { $0.controller == nil }
      entries.append(Entry(host: host, controller: controller))
    }
  }

  /// Whether a session other than `ended` is in use at this host; `nil` if there is one that cannot be read now.
  static func isInUse(_ host: String, besides ended: SessionID) -> Bool? {
    let others = entries.withLock { $0.filter { $0.host == host }.compactMap(\.controller) }
    var isKnown = true
    for other in others {
      switch other.state {
      case .signedIn(let facts) where facts.id != ended: return true
      case .restoring, .unavailable: isKnown = false
      case .signedIn, .signedOut: continue
      }
    }
    return isKnown ? false : nil
  }
}
