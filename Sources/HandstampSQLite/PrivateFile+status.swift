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

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
#endif
