#if Server
import HandstampCore
import HandstampSupport

/// Counters since the server's start, for tests, measurements and a metrics page.
public final class ServerMetrics: Sendable {
  /// All counters at one moment.
  public struct Snapshot: Sendable, Hashable {
    public var signUps = 0
    public var signIns = 0
    /// Guest accounts created.
    public var guests = 0
    /// Guest accounts upgraded to full ones.
    public var upgrades = 0
    /// Passwords changed or reset.
    public var passwordChanges = 0
    public var accountsDeleted = 0
    public var mailsSent = 0
    /// Attempts to hand a mail over that failed.
    public var mailsFailed = 0
    /// Mails that were given up.
    public var mailsAbandoned = 0
    /// Rows deleted after their retention.
    public var pruned = 0
    /// Sign-ins with a wrong address or password.
    public var refusedSignIns = 0
    /// Passwords that were not checked, because too many were wrong.
    public var guessesStopped = 0
    /// Requests refused because of ``ServerConfiguration/limits``.
    public var rateLimited = 0
    /// Argon2 runs for any purpose.
    public var passwordHashes = 0
    /// Refreshes that rotated the token.
    public var rotations = 0
    /// Retried refreshes that got the same successor.
    public var repeats = 0
    /// Refreshes with a token and key that were answered long ago.
    public var superseded = 0
    /// Sessions ended because a refresh token had been copied.
    public var thefts = 0
    /// Refreshes with a token ahead of the store, which had lost commits.
    public var fastForwards = 0
    /// Refresh tokens that this server did not issue, or that were damaged.
    public var garbage = 0
    /// Sessions ended by request.
    public var revocations = 0
    /// Requests refused because of their access token.
    public var refusedTokens = 0
    /// Event streams currently open.
    public var openStreams = 0
    /// Event streams that ended for a newer one of their session.
    public var replacedStreams = 0
    /// Event streams refused because too many were open.
    public var refusedStreams = 0
    /// Events written to streams.
    public var eventsSent = 0
    /// Connections accepted.
    public var connections = 0
    /// Connections currently open.
    public var openConnections = 0
    /// Idle connections that were closed for new ones.
    public var closedIdleConnections = 0
    /// Connections closed at once, because no idle one could be closed for them.
    public var refusedConnections = 0
    /// Failures to accept a connection, such as a lack of descriptors.
    public var acceptFailures = 0
    /// Requests that took too long to arrive.
    public var slowRequests = 0
    /// Connections closed because the client did not accept an answer.
    public var slowReaders = 0
    /// Certificates loaded while the server ran.
    public var certificatesLoaded = 0
    /// New certificates that could not be used.
    public var certificatesRefused = 0
    /// Failed operations of the store.
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
