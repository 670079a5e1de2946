#if Verifier
import HandstampCore
import HandstampSupport

/// A reason for which the feed was lost.
enum FeedError: Error, Sendable, Hashable {
  /// The server cannot be reached, or the connection broke.
  case transport(TransportError)
  /// The server answered with that status.
  case status(Int)
  /// The server sent something else than the feed.
  case notValid(String)
  /// No data has arrived for too long.
  case silent
  /// There are more revoked sessions than ``FeedSettings/capacity``.
  case full
  /// The server has ended the stream, as it does from time to time.
  case ended
}

/// The known ended sessions, and since when they are known. Pure: events and times come in.
///
/// The list only ever grows by what the server says, and shrinks by time. So a repeated block, or a second snapshot, does no harm;
/// and nothing is missing after a reconnection, as the server begins where the cursor is, or before.
struct RevocationFeed: Sendable {
  /// Whether the list can be relied on.
  enum Standing: Sendable, Hashable {
    case live
    /// Complete up to that time.
    case lost(since: Duration)
    /// Never complete.
    case incomplete
  }

  /// How long the word of the server counts.
  let silence: Duration
  private(set) var list: RevocationList
  /// Where the next connection continues; `nil` begins with a snapshot.
  private(set) var cursor: String?
  /// The uptime at which the server's last word was complete.
  private var completeAt: Duration?
  /// The least difference of this machine's uptime and the server's time in this connection: a greater one is a delay.
  private var offset: Duration?

  init(capacity: Int, silence: Duration) {
    list = RevocationList(capacity: capacity)
    self.silence = silence
  }

  func standing(at uptime: Duration) -> Standing {
    guard let completeAt else { return .incomplete }
    return uptime - completeAt <= silence ? .live : .lost(since: completeAt)
  }

  /// Call it before the first event of a connection.
  mutating func connected() { offset = nil }

  /// Forgets where to continue, so that the next connection begins with a snapshot.
  mutating func restart() { cursor = nil }

  /// Takes an event. Its ID counts only once all of it has been understood.
  ///
  /// - Parameters:
  ///   - uptime: when it arrived.
  ///   - earliest: sessions whose tokens had expired before that time, in seconds since 1970, are left out.
  mutating func take(_ event: FeedEvent, at uptime: Duration, leavingOutBefore earliest: Int64) throws(FeedError) {
    switch event.name {
    case "revocations": try add(event.data, earliest)
    case "verification": try verify(event.data, uptime)
    // Events of later versions. Their position counts as well: what must be understood gets another address.
    default: break
    }
    if let id = event.id { cursor = id }
  }

  private mutating func add(_ data: [UInt8], _ earliest: Int64) throws(FeedError) {
    guard case .object(let sessions)? = JSONValue(data)?["sessions"] else { throw .notValid("a block is not valid") }
    for (session, end) in sessions {
      guard let end = end.integer else { throw .notValid("a block is not valid") }
      guard end >= earliest else { continue }
      guard list.insert(RevocationList.Key(session), until: end) else { throw .full }
    }
  }

  /// An event may have waited: in the buffers of a proxy, or while this process was stopped. Compared with the fastest one of its
  /// connection, it shows by how much.
  private mutating func verify(_ data: [UInt8], _ uptime: Duration) throws(FeedError) {
    guard let at = JSONValue(data)?["at_ms"]?.integer else { throw .notValid("a verification is not valid") }
    let difference = uptime - .milliseconds(at)
    let least = min(offset ?? difference, difference)
    offset = least
    completeAt = max(completeAt ?? .zero, least + .milliseconds(at))
  }

  mutating func removeExpired(at now: Int64) { list.removeExpired(at: now) }
}
#endif
