#if Data
import Foundation
import GRDB
import HandstampCore
import Testing

@testable import HandstampData

@Suite(.timeLimit(.minutes(10))) struct `The place of a store` {
  @Test(arguments: ["", ".", "..", "../ada", "a/b", "Ada", "ada\u{0}", String(repeating: "é", count: 500)])
  func `is at one depth, whatever the account's name`(account: String) throws {
    func parent(_ account: String) throws -> String {
      try StorePlace("org.example.forum", account: AccountID(account)).folder.standardizedFileURL
        .deletingLastPathComponent().deletingLastPathComponent().path
    }
    #expect(try parent(account) == parent("x"))
  }

  @Test func `differs for every account`() throws {
    let long = String(repeating: "a", count: 400)
    let accounts = ["ada", "Ada", "_41da", "a/da", "a_2Fda", "", "_", long + "b", long + "c"]
    let folders = Set(try accounts.map { try StorePlace("forum", account: AccountID($0)).folder.path })
    #expect(folders.count == accounts.count)
  }

  @Test func `belongs to its owner alone, is excluded from backups, and can be removed twice`() throws {
    let folder = try NewFolder()
    let place = StorePlace(folder: folder.url.appendingPathComponent("a/b", isDirectory: true))
    try place.prepare()
    try place.prepare()
    let mode = try FileManager.default.attributesOfItem(atPath: place.folder.path)[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o700)
    #if !canImport(Darwin)
    let tag = try String(contentsOf: place.folder.appendingPathComponent("CACHEDIR.TAG"), encoding: .utf8)
    #expect(tag.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55"))
    #endif
    try place.remove()
    try place.remove()
    #expect(!FileManager.default.fileExists(atPath: place.folder.path))
  }

  @Test func `is removed even if a connection closes while its files are being removed`() throws {
    let folder = try NewFolder()
    let place = folder.place
    try place.prepare()
    let pool = try DatabasePool(path: place.folder.appendingPathComponent("store-1.sqlite").path)
    try pool.write { try $0.execute(sql: "CREATE TABLE x (y)") }
    var tries = 0
    try place.remove { url in
      tries += 1
      let names = try FileManager.default.contentsOfDirectory(atPath: url.path).sorted()
      // The last connection removes its log.
      try pool.close()
      for name in names { try FileManager.default.removeItem(at: url.appendingPathComponent(name)) }
      try FileManager.default.removeItem(at: url)
    }
    #expect(tries == 2)
    #expect(!FileManager.default.fileExists(atPath: place.folder.path))
  }

  @Test func `is removed even if a connection opens just after its files are gone`() throws {
    let folder = try NewFolder()
    try folder.place.prepare()
    var tries = 0
    try folder.place.remove { url in
      tries += 1
      try FileManager.default.removeItem(at: url)
      guard tries < 3 else { return }
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
      try Foundation.Data("log".utf8).write(to: url.appendingPathComponent("store-1.sqlite-wal"))
    }
    #expect(tries == 3)
    #expect(!FileManager.default.fileExists(atPath: folder.place.folder.path))
  }

  @Test func `that cannot be removed is reported in the end`() throws {
    let folder = try NewFolder()
    try folder.place.prepare()
    #expect(throws: StoreError.unusable("CocoaError")) {
      try folder.place.remove { _ in throw CocoaError(.fileWriteNoPermission) }
    }
    #expect(throws: StoreError.unusable("the folder cannot be removed")) { try folder.place.remove { _ in } }
  }
}

/// A new folder, removed with its last reference.
final class NewFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("handstamp-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}
#endif
