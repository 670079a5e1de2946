#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator

@Suite(.timeLimit(.minutes(10))) struct `The file of signing keys` {
  private func inFolder(_ body: (_ path: String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "signing-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder + "/signing.pem")
  }

  private func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  @Test func `has an RSA key only when it is needed, and is read from then on`() async throws {
    try await inFolder { path in
      let first = try SigningKeyFile(path: path).keys(needsRSA: false)
      #expect(first.algorithms == [.es256] && first.ids.count == 1)
      let made = try SigningKeyFile(path: path).keys(needsRSA: true)
      #expect(made.algorithms == [.es256, .rs256])
      #expect(made.ids.count == 2 && made.ids[0] == first.ids[0])
      let content = FileManager.default.contents(atPath: path)
      for needsRSA in [true, false] {
        #expect(try SigningKeyFile(path: path).keys(needsRSA: needsRSA).ids == made.ids)
      }
      #expect(FileManager.default.contents(atPath: path) == content)
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
    }
  }

  @Test func `without an RSA key keeps its keys and gets one, once, whoever comes first`() async throws {
    try await inFolder { path in
      let previous = SigningKeys().rotated()
      try previous.pem.withExposed { try write($0, to: path) }
      // Each opens the lock for itself, as two servers would.
      let seen = try await withThrowingTaskGroup(of: [String].self) { group in
        for _ in 0..<8 { group.addTask { try SigningKeyFile(path: path).keys(needsRSA: true).ids } }
        return try await group.reduce(into: Set<[String]>()) { $0.insert($1) }
      }
      #expect(seen.count == 1)
      let ids = try #require(seen.first)
      #expect(ids.prefix(2) == previous.ids.prefix(2))
      #expect(ids.count == 3)
      #expect(try SigningKeyFile(path: path).keys(needsRSA: true).ids == ids)
    }
  }

  @Test func `is the same for servers that create it at the same time`() async throws {
    try await inFolder { path in
      let seen = try await withThrowingTaskGroup(of: [String].self) { group in
        for _ in 0..<4 { group.addTask { try SigningKeyFile(path: path).keys(needsRSA: true).ids } }
        return try await group.reduce(into: Set<[String]>()) { $0.insert($1) }
      }
      #expect(seen.count == 1)
    }
  }

  @Test(arguments: [
    ("handstamp-signing-keys: 2\nwhatever comes then", "does not begin"), ("handstamp-signing-keys: 1\n", "no usable"),
    ("-----BEGIN PRIVATE KEY-----\n", "does not begin"), ("junk", "does not begin"), ("", "empty"),
  ])
  func `is never changed if it is not readable`(_ text: String, _ words: String) async throws {
    try await inFolder { path in
      try write(text, to: path)
      let refusal = try #require(throws: CommandError.self) {
        try SigningKeyFile(path: path).keys(needsRSA: true)
      }
      #expect(refusal.message.contains(words))
      #expect(FileManager.default.contents(atPath: path) == Data(text.utf8))
    }
  }

  @Test func `may differ from that of another server on the folder, and of none on the database`() async throws {
    let configuration = try ServeSettings(flags: ["data": "/x"], environment: [:], file: nil).configuration
    let registry = Registry(store: MemoryRegistryStore(), mint: TokenMint(try ServerKeys.drawn().master))
    let server = try await SessionServer(configuration: configuration, registry: registry, keys: SigningKeys())
    try await SigningKeyWatch(SigningKeys(), of: server, sharing: true).start()
    await #expect(throws: CommandError.self) {
      try await SigningKeyWatch(SigningKeys(), of: server, sharing: true).start()
    }
    try await SigningKeyWatch(SigningKeys(), of: server, sharing: false).start()
  }

  @Test func `of clients names the algorithm of their tokens`() async throws {
    try await inFolder { path in
      let entry = { (value: String) in
        #"[{"id":"a","redirectURIs":["https://a.example/"],"accessTokenSigningAlg":\#(value)}]"#
      }
      try write(entry(#""RS256""#), to: path)
      #expect(try ClientFile.clients(at: path).map(\.accessTokenSigning) == [.rs256])
      for bad in [#""HS256""#, #""none""#, #""rs256""#, "256"] {
        try write(entry(bad), to: path)
        #expect(throws: CommandError.self) { try ClientFile.clients(at: path) }
      }
    }
  }
}
#endif
