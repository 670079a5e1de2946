#if Data
// Without Foundation, whose Linux version brings a `stat` of its own.
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Tells a file from another one of the same name.
struct FileIdentity: Equatable, Sendable {
  private let device: UInt64
  private let number: UInt64

  init?(_ path: String) {
    var found = stat()
    // Not `stat`, which is the type's name, too.
    guard fstatat(AT_FDCWD, path, &found, 0) == 0 else { return nil }
    device = UInt64(truncatingIfNeeded: found.st_dev)
    number = UInt64(truncatingIfNeeded: found.st_ino)
  }
}
#endif
