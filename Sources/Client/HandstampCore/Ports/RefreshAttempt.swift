package import HandstampSupport

/// A refresh token that was, or may have been, presented to a server without rotation keys, and whose response is not stored
/// yet. Such a server may have replaced the token, and may end the session when it sees the old one again.
///
/// It is stored durably beside the token before the first byte is sent. A process that finds one presents the token again only
/// when no response to it can arrive any more: ``isOver``, its sender has ended, or ``limit`` has passed.
package struct RefreshAttempt: Sendable, Hashable {
  /// When the attempt was recorded.
  package var since: Moment
  /// The sender.
  package var sender: ProcessIdentity
  /// When the token was presented for the first time; `nil` if this attempt is the first.
  package var first: Moment?
  /// How long the sender awaits the response.
  package var limit: Duration
  /// Whether the sender has learned that no response can arrive any more.
  package var isOver = false
  /// The lock that the sender holds as long as a response may arrive or is not stored, see ``AttemptLocks``; `nil` for none.
  package var lock: FileIdentity?
  /// When the attempt was first read under other boots, at most ``readingLimit`` of them: their clocks cannot be compared with
  /// the sender's, so time counts from there.
  package var readings: [Moment]

  /// The most readings that are kept.
  package static let readingLimit = 8

  package init(
    since: Moment, sender: ProcessIdentity, first: Moment? = nil, limit: Duration, isOver: Bool = false,
    readings: [Moment] = []
  ) {
    self.since = since
    self.sender = sender
    self.first = first
    self.limit = limit
    self.isOver = isOver
    self.readings = readings
  }

  /// Returns how long the attempt has been known under the boot of `now`; `nil` if it was never read under it, or if the clock
  /// ran backward (a restored virtual machine).
  package func age(at now: Moment) -> Duration? {
    ([since] + readings).compactMap { now.elapsed(since: $0) }.max()
  }

  /// Whether the other is this attempt, ignoring readings.
  package func isSame(as other: RefreshAttempt?) -> Bool { since == other?.since && sender.id == other?.sender.id }

  /// Returns the same attempt, read at `now` for the first time under that boot.
  package func read(at now: Moment) -> RefreshAttempt {
    var new = self
    new.readings = readings.filter { $0.boot != now.boot }.suffix(RefreshAttempt.readingLimit - 1) + [now]
    return new
  }
}

/// A process, told apart from a later one with the same number.
package struct ProcessIdentity: Sendable, Hashable {
  /// The process ID.
  package var id: Int32
  /// When it began, in a unit of the system's, counted from the boot; `nil` if unknown.
  package var startedAt: UInt64?
  /// The namespace of its ID, as of a container; `nil` if unknown.
  package var namespace: UInt64?

  package init(id: Int32, startedAt: UInt64? = nil, namespace: UInt64? = nil) {
    self.id = id
    self.startedAt = startedAt
    self.namespace = namespace
  }

  /// Whether a process of `other`'s namespace can find out whether this one has ended. Its boot must be the same, too.
  package func isVisible(to other: ProcessIdentity) -> Bool {
    startedAt != nil && namespace != nil && namespace == other.namespace
  }
}
