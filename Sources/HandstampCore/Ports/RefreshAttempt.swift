/// A refresh token that was, or may have been, presented to a server that keeps no rotation keys, and whose answer is not
/// stored yet. Such a server may have replaced the token, and may end the session when it sees the old one again.
///
/// It is written down, durably and beside the token, before the first byte goes out. A process that finds one waits until
/// ``RefreshPolicy/answerLimit`` has passed before presenting the token once more.
public struct RefreshAttempt: Sendable, Hashable {
  /// When it was written down.
  public var since: Moment
  /// The sender's process id, to be named in messages: it decides nothing.
  public var process: Int32
  /// When it was first read under other boots, at most ``readingLimit`` of them: their clocks cannot be compared with the
  /// sender's, so time counts anew from there.
  public var readings: [Moment]

  public static let readingLimit = 8

  public init(since: Moment, process: Int32, readings: [Moment] = []) {
    self.since = since
    self.process = process
    self.readings = readings
  }

  /// For how long it has been known under the boot of `now`; `nil` when it was never read under it, or when the clock ran
  /// backward (a restored virtual machine).
  public func age(at now: Moment) -> Duration? {
    ([since] + readings).compactMap { now.elapsed(since: $0) }.max()
  }

  /// Whether the other is this attempt, readings aside.
  package func isSame(as other: RefreshAttempt?) -> Bool { since == other?.since && process == other?.process }

  /// The same attempt, read at `now` for the first time under that boot.
  package func read(at now: Moment) -> RefreshAttempt {
    var new = self
    new.readings = readings.filter { $0.boot != now.boot }.suffix(RefreshAttempt.readingLimit - 1) + [now]
    return new
  }
}

/// Whether it is too late to send a refresh: a program may be suspended between the note of its attempt and the first byte, and
/// others present the token when the note's limit has passed. Asked right before the request.
package enum SendingTime {
  @TaskLocal package static var isOver: @Sendable () -> Bool = { false }

  /// Does `refresh`, which is over when `limit` has passed since `note`, or when that cannot be known; without a note never.
  package static func during<Result>(
    _ limit: Duration, since note: Moment?, by clock: any SessionClock, _ refresh: () async -> Result
  ) async -> Result {
    await $isOver.withValue(
      { note.map { (clock.now().elapsed(since: $0) ?? limit) >= limit } ?? false }, operation: refresh)
  }
}
