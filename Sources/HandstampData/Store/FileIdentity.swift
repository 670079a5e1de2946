#if Data
// Without Foundation, whose Linux version brings its own `stat`.
import HandstampSupport

/// Distinguishes files that have the same name at different times.
struct FileIdentity: Equatable, Sendable {
  private let device: UInt64
  private let number: UInt64

  init?(_ path: String) {
    var found = stat()
    // Not `stat`, which is also the name of the type.
    guard fstatat(AT_FDCWD, path, &found, 0) == 0 else { return nil }
    device = UInt64(truncatingIfNeeded: found.st_dev)
    number = UInt64(truncatingIfNeeded: found.st_ino)
  }
}
#endif
