#if Command
package import Foundation

/// Facts about a file, read without opening it.
package struct FileFacts: Sendable, Hashable {
  package var isFolder: Bool
  package var isRegular: Bool
  /// The permission bits.
  package var mode: Int
  package var owner: uid_t
  package var group: gid_t
  package var size: Int
  /// Identifies the file to the kernel.
  package var inode: Int
  package var changedAt: Date

  /// `nil` if there is no such file. Does not follow symbolic links.
  package init?(_ path: String) {
    guard let facts = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
    isFolder = facts[.type] as? FileAttributeType == .typeDirectory
    isRegular = facts[.type] as? FileAttributeType == .typeRegular
    mode = (facts[.posixPermissions] as? NSNumber)?.intValue ?? 0
    owner = (facts[.ownerAccountID] as? NSNumber)?.uint32Value ?? 0
    group = (facts[.groupOwnerAccountID] as? NSNumber)?.uint32Value ?? 0
    size = (facts[.size] as? NSNumber)?.intValue ?? 0
    inode = (facts[.systemFileNumber] as? NSNumber)?.intValue ?? 0
    changedAt = facts[.modificationDate] as? Date ?? .distantPast
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
