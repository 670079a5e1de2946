#if Command
import Foundation
import HandstampSupport

/// The owner of a file.
struct FileOwner {
  var user: uid_t
  var group: gid_t

  /// - Parameter path: of the file itself; a link is not followed. `nil` if there is no such file.
  init?(_ path: String) {
    guard let facts = try? FileManager.default.attributesOfItem(atPath: path),
      let user = (facts[.ownerAccountID] as? NSNumber)?.uint32Value,
      let group = (facts[.groupOwnerAccountID] as? NSNumber)?.uint32Value
    else { return nil }
    (self.user, self.group) = (user, group)
  }

  /// The owner of a folder, or of the nearest one above it that is there.
  static func ofFolder(_ path: String) -> FileOwner? {
    var url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    while true {
      if let owner = FileOwner(url.path) { return owner }
      guard url.path != "/" else { return nil }
      url.deleteLastPathComponent()
    }
  }

  /// The user's name, or number.
  var name: String { getpwuid(user).flatMap { $0.pointee.pw_name }.map { String(cString: $0) } ?? "'#\(user)'" }
}
#endif
