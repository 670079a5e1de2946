#if Server
import HandstampCore

/// What a server has done since it started. For tests, measurements and a metrics page.
public final class ServerMetrics: Sendable {
  /// All counters at one moment.
  public struct Snapshot: Sendable, Hashable {
    public var signUps = 0
    public var signIns = 0
    /// Accounts opened for guests.
    public var guests = 0
    /// Guests' accounts that became full ones.
    public var upgrades = 0
    /// Passwords changed or reset.
    public var passwordChanges = 0
    public var accountsDeleted = 0
    public var mailsSent = 0
    /// Mails that were not handed over.
    public var mailsFailed = 0
    /// Rows that were forgotten because they were over for long.
    public var pruned = 0
    /// Sign-ins with a wrong address or password.
    public var refusedSignIns = 0
    /// Argon2 runs, whatever for.
    public var passwordHashes = 0
    /// Refreshes that moved a session on by one.
    public var rotations = 0
    /// Refreshes that were asked again and got the same successor.
    public var repeats = 0
    /// Refreshes with a pair that was answered long ago.
    public var superseded = 0
    /// Sessions ended because a refresh token had been copied.
    public var thefts = 0
    /// Refreshes that found the store behind its own tokens: it lost commits.
    public var fastForwards = 0
    /// Refresh tokens that are none of ours, or damaged.
    public var garbage = 0
    /// Sessions ended by request.
    public var revocations = 0
    /// Requests refused for their access token.
    public var refusedTokens = 0
    /// Event streams that are open now.
    public var openStreams = 0
    /// Events written to streams.
    public var eventsSent = 0
    /// Answers that the store could not give.
    public var storeFailures = 0
  }

  private let counters = Locked(Snapshot())

  public init() {}

  public var snapshot: Snapshot { counters.withLock { $0 } }

  func update(_ change: (inout Snapshot) -> Void) {
    counters.withLock { change(&$0) }
  }
}
#endif
