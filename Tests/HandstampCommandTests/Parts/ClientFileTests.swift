#if Programs
import Foundation
import HandstampServer
import Testing

@testable import HandstampCommand

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
    let refusal = try #require(throws: CommandError.self) {
      try clients(#"[{"id":"api","flows":[],"introspects":true}]"#)
    }
    #expect(refusal.message.contains("client api: introspects needs a secretSHA256"))
    #expect(refusal.hint == ClientFile.hint)
  }
}
#endif
