#if Verifier
public import HandstampCore

/// How a verifier follows the end of sessions at a Handstamp server, over one connection (`GET /v1/revocations`).
public struct FeedSettings: Sendable {
  /// The `client_id` of this API at the server: a client with `"introspects": true`.
  public var clientID: String
  /// Its secret.
  public var clientSecret: Secret
  /// The feed's address; `nil` is `/v1/revocations` of the issuer.
  public var url: String?
  /// The treatment of tokens while the feed is lost.
  public var whenLost: LostFeedPolicy
  /// How long the feed may be silent until it counts as lost, at least 3 s. The server sends a word every 2 s. Default 10 s.
  public var silence: Duration
  /// How many revoked sessions are held at most; beyond that the feed counts as lost. Each takes 29 bytes. Default 1,000,000.
  public var capacity: Int
  /// The introspection endpoint (RFC 7662), for ``LostFeedPolicy/introspect``; `nil` is `/oauth/introspect` of the issuer.
  public var introspectionURL: String?

  public init(
    clientID: String, clientSecret: Secret, url: String? = nil, whenLost: LostFeedPolicy = .goOn(for: .seconds(60)),
    silence: Duration = .seconds(10), capacity: Int = 1_000_000, introspectionURL: String? = nil
  ) {
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.url = url
    self.whenLost = whenLost
    self.silence = max(.seconds(3), silence)
    self.capacity = max(1, capacity)
    self.introspectionURL = introspectionURL
  }
}

/// The treatment of valid tokens while a verifier does not hear of ended sessions.
///
/// Sessions that it knows to have ended stay refused in any case. Before the first complete list, no token is accepted as if
/// there were one: ``goOn(for:then:)`` then does what it does later.
public struct LostFeedPolicy: Sendable, Hashable {
  /// The next step.
  public enum Last: Sendable, Hashable {
    /// 503, until the feed is back.
    case refuse
    /// The server is asked about each token (RFC 7662); 503 if it does not answer.
    case introspect
  }

  /// How long tokens are accepted as before.
  public let tolerance: Duration
  public let last: Last

  /// Refuses all tokens as soon as the feed is lost: after ``FeedSettings/silence`` without a word from the server.
  public static let refuse = LostFeedPolicy(tolerance: .zero, last: .refuse)
  /// Asks the server about each token as soon as the feed is lost.
  public static let introspect = LostFeedPolicy(tolerance: .zero, last: .introspect)

  /// Accepts tokens for a while, whose session had not ended when the feed was lost.
  public static func goOn(for tolerance: Duration, then last: Last = .refuse) -> LostFeedPolicy {
    LostFeedPolicy(tolerance: max(.zero, tolerance), last: last)
  }
}

extension LostFeedPolicy {
  /// The worth of a token, as far as its session is not known to have ended.
  enum Verdict: Sendable, Hashable {
    case live
    /// Lost at that uptime.
    case tolerated(since: Duration)
    /// `nil` if the feed was never complete.
    case refused(since: Duration?)
    case introspected(since: Duration?)
  }

  func verdict(_ standing: RevocationFeed.Standing, at uptime: Duration) -> Verdict {
    switch standing {
    case .live: return .live
    // The silence after which a feed counts as lost is part of the time.
    case .lost(let since) where uptime - since <= tolerance: return .tolerated(since: since)
    case .lost(let since): return last == .refuse ? .refused(since: since) : .introspected(since: since)
    case .incomplete: return last == .refuse ? .refused(since: nil) : .introspected(since: nil)
    }
  }
}

/// The state of a verifier's feed.
public struct FeedStatus: Sendable, Hashable {
  /// Whether the feed is live, and so a session that ends is refused within a second.
  public let isLive: Bool
  /// Up to when all ended sessions are known; `nil` if they never were. While the feed is live, a few seconds ago at most.
  public let completeUntil: UnixTime?
  /// How many ended sessions are held.
  public let sessions: Int
  /// Why the last connection ended; `nil` if none has.
  public let lastError: String?
}
#endif
