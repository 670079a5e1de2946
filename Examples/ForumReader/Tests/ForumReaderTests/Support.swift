import Foundation
import HandstampCore
import HandstampData

@testable import ForumReader

/// A folder that goes with its test.
final class Place: Sendable {
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("forum-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  }

  /// A store in it.
  func store(_ clock: any SessionClock) throws -> ForumStore {
    try ForumStore(StorePlace(folder: folder.appendingPathComponent("ada")), clock: clock)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }
}
