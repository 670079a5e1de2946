#if Command
package import Foundation

#if canImport(Darwin)
import Darwin
private typealias Status = Darwin.stat
#else
import Glibc
private typealias Status = Glibc.stat
#endif

/// Facts about a file, whether it is open or not.
package struct FileFacts: Sendable, Hashable {
  package var isFolder: Bool { kind == 0o040_000 }
  package var isRegular: Bool { kind == 0o100_000 }
  package var isSocket: Bool { kind == 0o140_000 }
  private var kind: UInt32
  /// The permission bits.
  package var mode: Int
  package var owner: uid_t
  package var group: gid_t
  package var size: Int
  package var changedAt: Date

  /// `nil` if there is no such file. Does not follow symbolic links.
  ///
  /// `FileManager` looks up the names of owner and group as well, in some thirty system calls.
  package init?(_ path: String) {
    var status = Status()
    guard fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
    self.init(status)
  }

  package init?(descriptor: Int32) {
    var status = Status()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  private init(_ status: Status) {
    kind = UInt32(status.st_mode) & 0o170_000
    mode = Int(status.st_mode) & 0o7777
    owner = status.st_uid
    group = status.st_gid
    size = Int(status.st_size)
    #if canImport(Darwin)
    let changed = status.st_mtimespec
    #else
    let changed = status.st_mtim
    #endif
    changedAt = Date(timeIntervalSince1970: TimeInterval(changed.tv_sec) + TimeInterval(changed.tv_nsec) / 1e9)
  }

  /// Whether there is a folder, or a symbolic link to one.
  package static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
  }

  /// Facts about a folder, or the nearest one above it that is there.
  package static func ofFolder(_ path: String) -> FileFacts? {
    var url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    while true {
      if let facts = FileFacts(url.path) { return facts }
      guard url.path != "/" else { return nil }
      url.deleteLastPathComponent()
    }
  }

  /// The owner's name, or number.
  package var ownerName: String {
    getpwuid(owner).flatMap { $0.pointee.pw_name }.map { String(cString: $0) } ?? "'#\(owner)'"
  }

  package var modeText: String { "mode 0" + String(mode, radix: 8) }
}
#endif
