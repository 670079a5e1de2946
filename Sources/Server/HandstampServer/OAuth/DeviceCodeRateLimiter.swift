#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Rate limits for device codes. Kept in memory, so each server counts separately.
final class DeviceCodeRateLimiter: Sendable {
  /// Maximum number of remembered entries; expired ones are dropped first.
  private static let capacity = 10_000
  /// How many codes an account may try in ``window``. There are 2.5·10^10 codes, and few are valid at a time.
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

  /// Returns whether a device may poll now. Polling too early adds 5 s to its interval each time (RFC 8628 section 3.5).
  func mayAsk(_ code: Secret, now: UnixTime) -> Bool {
    content.withLock { content in
      guard var device = content.devices[code] else {
        if content.devices.count >= DeviceCodeRateLimiter.capacity {
          content.devices = content.devices.filter { now.since($0.value.last) < DeviceGrant.life }
          if content.devices.count >= DeviceCodeRateLimiter.capacity { content.devices = [:] }
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

  /// Returns whether an account may try a code now, and counts the attempt.
  func mayGuess(_ account: AccountID, now: UnixTime) -> Bool {
    content.withLock { content in
      if content.guesses.count >= DeviceCodeRateLimiter.capacity { content.guesses = [:] }
      var times = content.guesses[account, default: []].filter { time in
        // A time in the future was recorded before the clock was set back.
        let age = now.since(time)
        return age >= .zero && age < DeviceCodeRateLimiter.window
      }
      guard times.count < DeviceCodeRateLimiter.guesses else { return false }
      times.append(now)
      content.guesses[account] = times
      return true
    }
  }

  /// Uncounts a correct code. The other attempts still count; otherwise an attacker could reset them with a device of their
  /// own.
  func forgive(_ account: AccountID) {
    content.withLock { content in
      guard var times = content.guesses[account], times.popLast() != nil else { return }
      content.guesses[account] = times.isEmpty ? nil : times
    }
  }
}
#endif
