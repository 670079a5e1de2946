#if Programs
import Foundation
import HandstampJOSE
import HandstampServer
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator

@Suite(.timeLimit(.minutes(10))) struct `A file of clients` {
  private func clients(_ text: String) throws -> [ConfiguredClient] {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("clients-\(UUID().uuidString).json").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return try ClientFile.clients(at: path)
  }

  @Test func `marks APIs that introspect all tokens, which need a secret`() throws {
    let secret = #""secretSHA256":"\#(String(repeating: "0a", count: 32))""#
    #expect(try clients(#"[{"id":"api","flows":[],"introspects":true,\#(secret)}]"#).map(\.introspects) == [true])
    #expect(try clients(#"[{"id":"api","flows":[],\#(secret)}]"#).map(\.introspects) == [false])
    // With a key alone it could introspect, but not follow the sessions that end.
    let keys = String(decoding: JWKSet([JWK(JWSPrivateKey.es256().publicKey)]).json, as: UTF8.self)
    for more in ["", #","jwks":\#(keys)"#] {
      let refusal = try #require(throws: CommandError.self) {
        try clients(#"[{"id":"api","flows":[],"introspects":true\#(more)}]"#)
      }
      #expect(refusal.message.contains("client api: introspects needs a secretSHA256"))
      #expect(refusal.hint == ClientFile.hint)
    }
    #expect(try clients(#"[{"id":"api","flows":[],"introspects":true,"jwks":\#(keys),\#(secret)}]"#).count == 1)
  }

  @Test func `that is missing or cannot be read is refused with the reason, not with its syntax`() throws {
    let folder = FileManager.default.temporaryDirectory.path
    let unreadable = try #require(throws: CommandError.self) { try ClientFile.clients(at: folder) }
    #expect(unreadable.message.contains("a folder in place of a file"))
    #expect(unreadable.hint.contains("chmod 644 \(folder)"))
    let missing = try #require(throws: CommandError.self) {
      try ClientFile.clients(at: "\(folder)/\(UUID().uuidString)/clients.json")
    }
    #expect(missing.message.hasSuffix("is missing") && missing.hint.contains("clients add"))
  }

  @Test(.enabled(if: geteuid() != 0)) func `that others own names the permission`() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("clients-\(UUID().uuidString).json").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(FileManager.default.createFile(atPath: path, contents: Data("[]".utf8), attributes: [.posixPermissions: 0]))
    let refusal = try #require(throws: CommandError.self) { try ClientFile.clients(at: path) }
    #expect(refusal.message.contains("Permission denied") && refusal.hint.contains("chmod"))
  }
}
#endif
