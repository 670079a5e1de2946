/// The identity of a file: its device and inode number. It distinguishes files that have the same name at different times.
package struct FileIdentity: Sendable, Hashable {
  package let device: UInt64
  /// The inode number.
  package let number: UInt64

  package init(device: UInt64, number: UInt64) {
    self.device = device
    self.number = number
  }

  /// Returns `nil` if the file does not exist or is not accessible.
  package init?(path: String) {
    var status = stat()
    // Not `stat`, which is also the name of the type.
    guard fstatat(AT_FDCWD, path, &status, 0) == 0 else { return nil }
    self.init(status)
  }

  /// The identity of an open file.
  package init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  package init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    number = UInt64(status.st_ino)
  }
}
