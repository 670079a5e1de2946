/// Selects the clean-up steps that run when a session ends: those whose scope is in the plan.
///
/// | scopes | request cache | cookies | preferences | downloads, database, images |
/// |---|---|---|---|---|
/// | ``expiry`` | yes | yes | no | no |
/// | ``standard`` | yes | yes | yes | no |
/// | ``everything`` | yes | yes | yes | yes |
///
/// These steps every `SessionManager` of `Handstamp` has, so that an app passes `cleanups` only for what it keeps elsewhere:
///
/// | scope | data |
/// |---|---|
/// | request cache | none: the session's own client keeps no responses |
/// | cookies | those of the server's host in `HTTPCookieStorage.shared` and in web views; there also the host's records |
/// | always | web data of the account's own, `AccountID.webDataIdentifier`; cookies that were lent to a web view |
/// | preferences | those whose keys begin with `AccountID.preferencesPrefix` |
/// | downloads, database, images | with `Accounts`, the account's folders; otherwise none |
///
/// Cookies of the host are those that it set for itself, not for the domain above it. Cookies and records of a host are shared by its
/// accounts: they stay while another one is signed in, and `CleanupReport.kept` says so. A scope without a step erases nothing, which
/// `SignOutReport.scopesWithoutStep` says. The cookies of a browser's sheet are the browser's, and stay.
///
/// The session's tokens and profile are removed whatever the plan. If the same account signs in again over its own session, no
/// step runs: its data stays.
///
/// Settings of the app itself, onboarding progress and the device's registration belong to no account: write no step for them.
public struct SignOutPlan: Sendable, Hashable {
  /// The scopes whose clean-up steps run; always includes ``CleanupScope/always``.
  public private(set) var scopes: Set<CleanupScope>

  /// Creates a plan that runs the steps of `scopes`.
  ///
  /// - Parameter scopes: ``CleanupScope/always`` is added to every plan.
  package init(_ scopes: Set<CleanupScope> = []) { self.scopes = scopes.union([.always]) }

  /// For a session that ended on its own: runs the steps for data that could expose one user to another, and keeps what the
  /// same user will want after signing in again.
  public static let expiry = SignOutPlan([.requestCache, .cookies])
  /// For a user who signed out.
  public static let standard = SignOutPlan([.requestCache, .cookies, .preferences])
  /// For a user who signed out and wants all their data removed from the device: runs every step.
  public static let everything = SignOutPlan(Set(CleanupScope.allCases))

  /// Returns this plan with the steps of `scopes` as well.
  public func erasing(_ scopes: CleanupScope...) -> SignOutPlan { SignOutPlan(self.scopes.union(scopes)) }

  /// Returns this plan without the steps of `scopes`. ``CleanupScope/always`` stays in every plan.
  public func keeping(_ scopes: CleanupScope...) -> SignOutPlan { SignOutPlan(self.scopes.subtracting(scopes)) }

  /// Returns the plan for sessions that end without an explicit one: ``everything`` if the account was closed, ``standard`` if
  /// a user, an operator or an identity provider ended the session, here or elsewhere, and ``expiry`` otherwise.
  ///
  /// ``EndReason/replaced`` gives ``expiry``: when another account signs in, the previous account's preferences, downloads,
  /// database and images stay on the device. Keep them in a folder per account.
  public static func standard(for reason: EndReason) -> SignOutPlan {
    switch reason {
    case .accountClosed: .everything
    case .signedOut, .revoked, .endedAtProvider: .standard
    case .replaced, .tokenReuseDetected, .expired, .idle, .repeatRefused, .rejected, .erased: .expiry
    }
  }
}

/// The kind of data that a clean-up step erases. A ``SignOutPlan`` selects steps by it.
public enum CleanupScope: String, Sendable, Hashable, CaseIterable, Codable {
  /// Part of every plan.
  case always
  /// Cached responses of the app's own requests: a session's client keeps none.
  case requestCache = "request_cache"
  /// Cookies, and other data of web views.
  case cookies
  /// Preferences that belong to the account.
  case preferences
  /// Files that the user downloaded.
  case downloads
  /// The account's database.
  case database
  /// Cached images.
  case imageCache = "image_cache"
}

/// A clean-up step as the session's rules know it. The name is stored in tombstones, so it must not change between releases;
/// running a step twice must be harmless.
package struct Cleanup: Sendable, Hashable {
  package var name: String
  package var scope: CleanupScope

  package init(_ name: String, _ scope: CleanupScope) {
    self.name = name
    self.scope = scope
  }
}

/// An ended session, as passed to clean-up steps.
public struct EndedSession: Sendable, Hashable {
  /// The ID of the session that ended.
  public var id: SessionID
  /// The session's account; `nil` if the session could not be read before it ended.
  public var account: AccountID?
  /// Why the session ended.
  public var reason: EndReason

  public init(id: SessionID, account: AccountID?, reason: EndReason) {
    self.id = id
    self.account = account
    self.reason = reason
  }
}
