/// The data that is erased when a session ends, in addition to its tokens, the profile in memory and the signed-in state, which
/// are always erased.
///
/// | plan | request cache | cookies | preferences | downloads, database, images |
/// |---|---|---|---|---|
/// | ``expiry`` | erased | erased | kept | kept |
/// | ``standard`` | erased | erased | erased | kept |
/// | ``everything`` | erased | erased | erased | erased |
///
/// App preferences, onboarding progress and the device's registration belong to the app, not to an account: no plan touches
/// them.
public struct SignOutPlan: Sendable, Hashable {
  /// The scopes whose clean-up steps run; always includes ``CleanupScope/always``.
  public private(set) var scopes: Set<CleanupScope>

  /// Creates a plan that erases `scopes`.
  ///
  /// - Parameter scopes: ``CleanupScope/always`` is added to every plan.
  public init(_ scopes: Set<CleanupScope> = []) { self.scopes = scopes.union([.always]) }

  /// For a session that ended on its own: erases data that could expose one user to another, and keeps what the same user will
  /// want after signing in again.
  public static let expiry = SignOutPlan([.requestCache, .cookies])
  /// For a user who signed out.
  public static let standard = SignOutPlan([.requestCache, .cookies, .preferences])
  /// For a user who signed out and wants all their data removed from the device.
  public static let everything = SignOutPlan(Set(CleanupScope.allCases))

  /// Returns this plan with `scopes` erased as well.
  public func erasing(_ scopes: CleanupScope...) -> SignOutPlan { SignOutPlan(self.scopes.union(scopes)) }

  /// Returns this plan with `scopes` kept.
  public func keeping(_ scopes: CleanupScope...) -> SignOutPlan { SignOutPlan(self.scopes.subtracting(scopes)) }

  /// Returns the plan for sessions that end without an explicit one: ``everything`` if the account was closed, ``standard`` if
  /// a user or an operator ended the session, here or elsewhere, and ``expiry`` if it ended on its own.
  public static func standard(for reason: EndReason) -> SignOutPlan {
    switch reason {
    case .accountClosed: .everything
    case .signedOut, .revoked: .standard
    case .replaced, .tokenReuseDetected, .expired, .idle, .rejected, .erased: .expiry
    }
  }
}

/// The kind of data that a clean-up step erases.
public enum CleanupScope: String, Sendable, Hashable, CaseIterable, Codable {
  /// Erased at every end of a session.
  case always
  /// Cached API responses.
  case requestCache = "request_cache"
  /// The cookies of the app's web views and requests.
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
  public var session: SessionID
  /// The session's account; `nil` if the session could not be read before it ended.
  public var account: AccountID?
  /// Why the session ended.
  public var reason: EndReason

  public init(session: SessionID, account: AccountID?, reason: EndReason) {
    self.session = session
    self.account = account
    self.reason = reason
  }
}
