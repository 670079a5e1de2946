import Foundation
import HandstampCore
import HandstampOAuth
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A DPoP key` {
  private func folder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  private func write(_ data: Data, to path: String, mode: Int) -> Bool {
    FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: mode])
  }

  @Test func `in memory is new every time`() { #expect(DPoPKey().thumbprint != DPoPKey().thumbprint) }

  @Test func `in a file is created once, for its owner only`() throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("dpop.key").path
    let key = try DPoPKey(file: path)
    #expect(try DPoPKey(file: path).thumbprint == key.thumbprint)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["dpop.key"])
  }

  @Test func `is one for all that start at once`() async throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("dpop.key").path
    let prints = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<16 { group.addTask { try DPoPKey(file: path).thumbprint } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(prints.count == 1)
  }

  @Test func `that others can read, or that is not a key, is an error`() throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("dpop.key").path
    #expect(write(Data(repeating: 1, count: 32), to: path, mode: 0o644))
    #expect(throws: SessionError.storage(.permissions("other users can use \(path): its mode should be 0600"))) {
      try DPoPKey(file: path)
    }
    #expect(write(Data("short".utf8), to: path, mode: 0o600))
    #expect(throws: SessionError.storage(.wrongKey("\(path) is not a DPoP key"))) { try DPoPKey(file: path) }
    let missing = folder.path + "/none/dpop.key"
    #expect(throws: SessionError.storage(.unavailable("\(missing) cannot be written (error 2)"))) {
      try DPoPKey(file: missing)
    }
    #if os(Linux)
    // A file system to which not even root may add files.
    #expect(throws: SessionError.storage(.permissions("no permission to write /sys/dpop.key"))) {
      try DPoPKey(file: "/sys/dpop.key")
    }
    #endif
  }
}
