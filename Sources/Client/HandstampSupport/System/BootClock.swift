/// The time since this machine started, which every process measures alike, and which goes on while the machine sleeps.
package enum BootClock {
  /// One number per boot, or zero if the system has none.
  package static let id: UInt64 = {
    #if canImport(Darwin)
    var size = 0
    sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0)
    var text = [UInt8](repeating: 0, count: size)
    sysctlbyname("kern.bootsessionuuid", &text, &size, nil, 0)
    return fingerprint(text)
    #else
    return fingerprint(ProcessTimes.contents(of: "/proc/sys/kernel/random/boot_id") ?? [])
    #endif
  }()

  /// `CLOCK_BOOTTIME` on Linux, and `CLOCK_MONOTONIC` on Apple platforms, where it includes sleep as well.
  package static var uptime: Duration {
    var time = timespec()
    #if canImport(Darwin)
    clock_gettime(CLOCK_MONOTONIC, &time)
    #else
    clock_gettime(CLOCK_BOOTTIME, &time)
    #endif
    return .nanoseconds(Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }

  /// FNV-1a: the same in every process, unlike Swift's seeded hashes.
  private static func fingerprint(_ bytes: [UInt8]) -> UInt64 {
    bytes.isEmpty ? 0 : bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
