// Without Foundation, whose Linux version has its own `stat`.
import HandstampSupport

extension PrivateFile {
  /// Returns the permission bits of an open file, or `nil` if they cannot be determined.
  package static func mode(of file: Int32) -> UInt32? {
    var status = stat()
    return fstat(file, &status) == 0 ? UInt32(status.st_mode) & 0o777 : nil
  }

  /// Returns the size of a file in bytes, or `nil` if it does not exist.
  package static func size(_ path: String) -> Int? {
    var status = stat()
    return fstatat(AT_FDCWD, path, &status, 0) == 0 ? Int(status.st_size) : nil
  }

  /// Refuses a file or folder that every user of the machine can write to. It may be missing.
  package static func requireOwn(_ path: String) throws(RegistryOpenError) {
    var status = stat()
    guard fstatat(AT_FDCWD, path, &status, 0) == 0, status.st_mode & 0o002 != 0,
      // A file or a folder: devices are for everyone.
      [0o100_000, 0o040_000].contains(status.st_mode & 0o170_000)
    else { return }
    throw .writableByAnyone(path: path)
  }

  package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
