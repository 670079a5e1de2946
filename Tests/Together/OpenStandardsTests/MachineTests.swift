#if Programs
import Foundation
import HandstampServer
import Testing

/// RFC 7523, between programs that share no code.
@Suite(.timeLimit(.minutes(10))) struct `Authlib's client without a user at our server` {
  @Test(arguments: ["ES256", "RS256"])
  func `authenticates itself with its key, wherever the server knows clients`(_ algorithm: String) async throws {
    let program = try Program("machine.py", [algorithm])
    defer { program.close() }
    var lines = program.lines.makeAsyncIterator()
    let keys = try #require(await lines.next(isolation: #isolation))
    let robot = try ConfiguredClient(id: "robot", flows: [.credentials], scopes: ["read", "write"], jwks: keys)
    try await OwnServer.run(adding: [robot]) { server async throws in
      program.say(server.url)
      var seen: [String] = []
      while let line = await lines.next(isolation: #isolation) { seen.append(line) }
      #expect(
        seen == ["token Bearer read False", "me 403", "introspected True robot", "other key invalid_client"])
    }
  }
}
#endif
