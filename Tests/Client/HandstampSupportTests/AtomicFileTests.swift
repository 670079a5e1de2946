import Foundation
import HandstampSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct `An atomic file` {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("handstamp-\(UUID().uuidString)")
    .path
  private var path: String { folder + "/file" }

  init() throws {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  private func content() -> String? {
    FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
  }
  private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder) }

  @Test func `is replaced whole, readable by its owner only`() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try AtomicFile.replace(path, with: Array("one".utf8))
    try AtomicFile.replace(path, with: Array(repeating: UInt8(ascii: "2"), count: 1 << 20))
    #expect(content()?.utf8.count == 1 << 20)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    #expect(try names() == ["file"])
  }

  @Test func `has the mode that is asked for, whatever the umask`() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for mode in [0o666, 0o640] as [UInt32] {
      try AtomicFile.replace(path, with: [1], mode: mode)
      #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == Int(mode))
    }
  }

  @Test func `is created once`() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(try AtomicFile.create(path, with: Array("one".utf8)))
    #expect(try !AtomicFile.create(path, with: Array("two".utf8)))
    #expect(content() == "one")
    #expect(try names() == ["file"])
  }

  @Test func `that cannot be written leaves nothing behind, and says why`() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    let error = #expect(throws: SystemError.self) { try AtomicFile.replace(path, with: [1]) }
    #expect(error?.code == EISDIR && error?.reason == "a folder in place of a file")
    #expect(try names() == ["file"])
    let missing = #expect(throws: SystemError.self) { try AtomicFile.replace(folder + "/no/file", with: [1]) }
    #expect(missing?.reason == "not found")
  }
}
