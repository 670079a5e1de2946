#if Server
import HandstampCore
import HandstampRegistry

/// How often is asked what may not be asked often. In memory: each server of several counts for itself.
final class Pacing: Sendable {
  /// More than that are not remembered; the oldest go first.
  private static let capacity = 10_000
  /// How many codes an account may guess in ``window``. There are 2.5·10^10 of them, and few are good at a time.
  static let guesses = 10
  static let window = Duration.seconds(600)

  private struct Device: Sendable {
    var last: UnixTime
    var interval: Duration
  }
  private struct Content: Sendable {
    var devices: [Secret: Device] = [:]
    var guesses: [AccountID: [UnixTime]] = [:]
  }
  private let content = Locked(Content())

  /// Whether a device may ask now. One that comes too early must wait 5 s longer each time (RFC 8628 section 3.5).
  func mayAsk(_ code: Secret, now: UnixTime) -> Bool {
    content.withLock { content in
      guard var device = content.devices[code] else {
        if content.devices.count >= Pacing.capacity {
          content.devices = content.devices.filter { now.since($0.value.last) < DeviceGrant.life }
          if content.devices.count >= Pacing.capacity { content.devices = [:] }
        }
        content.devices[code] = Device(last: now, interval: DeviceGrant.interval)
        return true
      }
      let isEarly = now.since(device.last) < device.interval - .milliseconds(500)
      if isEarly { device.interval += .seconds(5) }
      device.last = now
      content.devices[code] = device
      return !isEarly
    }
  }

  /// Whether an account may guess a code now; counts the guess.
  func mayGuess(_ account: AccountID, now: UnixTime) -> Bool {
    content.withLock { content in
      if content.guesses.count >= Pacing.capacity { content.guesses = [:] }
      var times = content.guesses[account, default: []].filter { time in
        // One that lies ahead is of a clock that was set back since.
        let age = now.since(time)
        return age >= .zero && age < Pacing.window
      }
      guard times.count < Pacing.guesses else { return false }
      times.append(now)
      content.guesses[account] = times
      return true
    }
  }

  /// A code was right: that one was no guess. The others remain, or a device of one's own would pay for any number of them.
  func forgive(_ account: AccountID) {
    content.withLock { content in
      guard var times = content.guesses[account], times.popLast() != nil else { return }
      content.guesses[account] = times.isEmpty ? nil : times
    }
  }
}
#endif
