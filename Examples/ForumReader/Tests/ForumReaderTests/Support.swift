import Foundation
import HandstampCore
import HandstampData

@testable import ForumReader

/// A folder that is deleted after its test.
final class Place: Sendable {
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("forum-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  }

  /// Opens a store in the folder.
  func store(_ clock: any SessionClock) throws -> ForumStore {
    try StorePlace(folder: folder.appendingPathComponent("ada")).forumStore(clock)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }
}

extension StorePlace {
  func forumStore(_ clock: any SessionClock) throws -> ForumStore {
    ForumStore(try DataStore(self, schema: .forum, clock: clock)) { clock.now().wall }
  }
}
