#if HTTP
import HandstampSupport

/// The process's limit of open files.
enum DescriptorLimit {
  /// The soft limit, which applies.
  static var current: Int { limit.map { Int(clamping: $0.rlim_cur) } ?? 256 }

  /// Raises the soft limit to the hard limit, and returns what applies then.
  static func raise() -> Int {
    guard var limit, limit.rlim_cur < limit.rlim_max else { return current }
    limit.rlim_cur = limit.rlim_max
    #if canImport(Darwin)
    // More than OPEN_MAX is refused there, whatever the hard limit says.
    limit.rlim_cur = min(limit.rlim_cur, 10_240)
    #endif
    #if canImport(Glibc)
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #else
    _ = setrlimit(RLIMIT_NOFILE, &limit)
    #endif
    return current
  }

  private static var limit: rlimit? {
    var limit = rlimit()
    #if canImport(Glibc)
    let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #else
    let result = getrlimit(RLIMIT_NOFILE, &limit)
    #endif
    return result == 0 ? limit : nil
  }
}
#endif
