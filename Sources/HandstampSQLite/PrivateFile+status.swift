#if SQLite
// Without Foundation, whose Linux version brings a `stat` of its own.
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension PrivateFile {
  /// The permission bits of an open file; `nil` when the system does not tell.
  static func mode(of file: Int32) -> UInt32? {
    var status = stat()
    return fstat(file, &status) == 0 ? UInt32(status.st_mode) & 0o777 : nil
  }

  /// In bytes; `nil` where there is no file.
  static func size(_ path: String) -> Int? {
    var status = stat()
    return fstatat(AT_FDCWD, path, &status, 0) == 0 ? Int(status.st_size) : nil
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}

/// Which file stands at a path: its device and its number there.
struct FileIdentity: Sendable, Hashable {
  private let device: UInt64
  private let number: UInt64

  /// `nil` where there is no file, or none that can be seen.
  init?(path: String) {
    var status = stat()
    guard fstatat(AT_FDCWD, path, &status, 0) == 0 else { return nil }
    self.init(status)
  }

  /// Of an open file.
  init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  private init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    number = UInt64(status.st_ino)
  }
}
#endif
