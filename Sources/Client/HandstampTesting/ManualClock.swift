public import HandstampCore
import HandstampSupport

/// A clock that stands still until it is moved. Sleeping tasks wake in the order of their deadlines once those have
/// passed.
public final class ManualClock: SessionClock {
  private struct Sleeper: Sendable {
    var id: UInt64
    var wakes: Duration
    var continuation: CheckedContinuation<Void, any Error>
  }
  private struct Content: Sendable {
    var now: Moment
    var lastID: UInt64 = 0
    var cancelled: Set<UInt64> = []
    var sleepers: [Sleeper] = []
  }
  private let content: Watched<Content>

  public init(_ now: Moment = Moment(boot: 1, uptime: .seconds(1000), wall: UnixTime(seconds: 1_800_000_000))) {
    content = Watched(Content(now: now))
  }

  public func now() -> Moment { content.value.now }
  public func uptime() -> Duration { content.value.now.uptime }

  /// The number of tasks sleeping on this clock.
  public var sleeperCount: Int { content.value.sleepers.count }

  /// The time until the next task wakes; `nil` if none sleeps.
  package var untilNextWake: Duration? {
    let content = content.value
    return content.sleepers.map(\.wakes).min().map { $0 - content.now.uptime }
  }

  /// Waits until at least `count` tasks sleep on this clock, so that moving it wakes them.
  public func sleepers(_ count: Int) async {
    await content.wait { $0.sleepers.count >= count }
  }

  /// Moves both clocks forward, and wakes the tasks whose deadlines have passed.
  public func advance(by duration: Duration) {
    move { $0.advanced(by: duration) }
  }

  /// Moves only the wall clock, as a user or a time server would.
  public func setWall(_ wall: UnixTime) {
    move { Moment(boot: $0.boot, uptime: $0.uptime, wall: wall) }
  }

  /// Restarts the device: a new boot, uptime near zero, and the wall clock `duration` later.
  public func reboot(after duration: Duration = .seconds(30)) {
    move { Moment(boot: $0.boot &+ 1, uptime: .seconds(1), wall: $0.wall.advanced(by: duration)) }
  }

  private func move(_ change: @Sendable (Moment) -> Moment) {
    let awake = content.change { content in
      content.now = change(content.now)
      let uptime = content.now.uptime
      let awake = content.sleepers.filter { $0.wakes <= uptime }.sorted { ($0.wakes, $0.id) < ($1.wakes, $1.id) }
      content.sleepers.removeAll { $0.wakes <= uptime }
      return awake
    }
    for sleeper in awake { sleeper.continuation.resume() }
  }

  @concurrent public func sleep(for duration: Duration) async throws {
    let id = content.change { content in
      content.lastID += 1
      return content.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let isOver = content.change { content -> Bool? in
          if content.cancelled.remove(id) != nil { return nil }
          if duration <= .zero { return true }
          content.sleepers.append(Sleeper(id: id, wakes: content.now.uptime + duration, continuation: continuation))
          return false
        }
        switch isOver {
        case nil: continuation.resume(throwing: CancellationError())
        case true?: continuation.resume()
        case false?: break
        }
      }
    } onCancel: {
      let sleeper = content.change { content -> Sleeper? in
        guard let index = content.sleepers.firstIndex(where: { $0.id == id }) else {
          content.cancelled.insert(id)
          return nil
        }
        return content.sleepers.remove(at: index)
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
    _ = content.change { $0.cancelled.remove(id) }
  }
}
