/// What else goes when a session ends, beside what always does: its tokens, the person in memory, the signed-in state.
///
/// | plan | request cache | cookies | preferences | downloads, database, images |
/// |---|---|---|---|---|
/// | ``expiry`` | goes | go | stay | stay |
/// | ``standard`` | goes | go | go | stay |
/// | ``everything`` | goes | go | go | go |
///
/// App preferences, what onboarding has shown, and the device's registration belong to the app, not to an account: no plan
/// touches them.
public struct SignOutPlan: Sendable, Hashable {
  public private(set) var scopes: Set<CleanupScope>

  /// - Parameter scopes: ``CleanupScope/always`` is part of every plan.
  public init(_ scopes: Set<CleanupScope> = []) { self.scopes = scopes.union([.always]) }

  /// A session that ended by itself: what could show somebody else's data goes; what the same person finds again after
  /// signing in stays.
  public static let expiry = SignOutPlan([.requestCache, .cookies])
  /// A person signed out.
  public static let standard = SignOutPlan([.requestCache, .cookies, .preferences])
  /// A person signed out and wants nothing of theirs left on the device.
  public static let everything = SignOutPlan(Set(CleanupScope.allCases))

  /// This plan, and these go as well.
  public func erasing(_ scopes: CleanupScope...) -> SignOutPlan { SignOutPlan(self.scopes.union(scopes)) }

  /// This plan, but these stay.
  public func keeping(_ scopes: CleanupScope...) -> SignOutPlan { SignOutPlan(self.scopes.subtracting(scopes)) }

  /// What goes when nobody chose a plan: ``everything`` when the account is gone, ``standard`` when somebody ended the
  /// session, here or elsewhere, ``expiry`` when it ended by itself.
  public static func standard(for reason: EndReason) -> SignOutPlan {
    switch reason {
    case .accountClosed: .everything
    case .signedOut, .revoked: .standard
    case .replaced, .misused, .expired, .idle, .rejected, .erased: .expiry
    }
  }
}

/// What a clean-up step erases.
public enum CleanupScope: String, Sendable, Hashable, CaseIterable, Codable {
  /// At every end of a session.
  case always
  /// Cached answers to requests.
  case requestCache = "request_cache"
  case cookies
  /// Preferences that belong to the account.
  case preferences
  /// Files that the person downloaded.
  case downloads
  /// The account's database.
  case database
  case imageCache = "image_cache"
}

/// A clean-up step as the session's rules know it. The name stands in tombstones: it must not change between releases, and a
/// step must be harmless when it is done twice.
public struct Cleanup: Sendable, Hashable {
  public var name: String
  public var scope: CleanupScope

  public init(_ name: String, _ scope: CleanupScope) {
    self.name = name
    self.scope = scope
  }
}

/// A session that is over, for whoever cleans up after it.
public struct EndedSession: Sendable, Hashable {
  public var session: SessionID
  /// Nothing when the session could not be read before it ended.
  public var account: AccountID?
  public var reason: EndReason

  public init(session: SessionID, account: AccountID?, reason: EndReason) {
    self.session = session
    self.account = account
    self.reason = reason
  }
}
