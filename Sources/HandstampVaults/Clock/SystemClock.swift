import HandstampSupport
public import HandstampCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The device's clocks. Uptime includes sleep: `CLOCK_BOOTTIME` on Linux, and `CLOCK_MONOTONIC` on Apple platforms,
/// where it includes sleep as well.
public struct SystemClock: SessionClock {
  private let boot: UInt64

  public init() { boot = SystemClock.bootID }

  public func now() -> Moment {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let wall = UnixTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    return Moment(boot: boot, uptime: uptime(), wall: wall)
  }

  public func uptime() -> Duration {
    var time = timespec()
    #if canImport(Darwin)
    clock_gettime(CLOCK_MONOTONIC, &time)
    #else
    clock_gettime(CLOCK_BOOTTIME, &time)
    #endif
    return .nanoseconds(Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }

  @concurrent public func sleep(for duration: Duration) async throws {
    // A limit of `.seconds(.max)`, meaning never, would trap inside; a century is long enough.
    try await Task.sleep(for: min(duration, Duration.seconds(100 * 366 * 86_400)), clock: .continuous)
  }

  /// One number per boot, or zero if the system has none. Uptime alone must do then: a token that looks fresh after a
  /// reboot costs one 401 and a refresh.
  private static let bootID: UInt64 = {
    #if canImport(Darwin)
    var size = 0
    sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0)
    var text = [UInt8](repeating: 0, count: size)
    sysctlbyname("kern.bootsessionuuid", &text, &size, nil, 0)
    return fingerprint(text)
    #else
    let path = "/proc/sys/kernel/random/boot_id"
    return fingerprint(FileManager.default.contents(atPath: path).map { Array($0) } ?? [])
    #endif
  }()

  /// FNV-1a: the same in every process, unlike Swift's seeded hashes.
  private static func fingerprint(_ bytes: [UInt8]) -> UInt64 {
    bytes.isEmpty ? 0 : bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
