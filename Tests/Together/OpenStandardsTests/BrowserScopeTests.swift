#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// The command, signed in by browser at our own server without naming a scope.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `A session that began in a browser` {
  @Test(arguments: [("stays", false), ("leaves", true)])
  func `says at the sign-in whether it ends with the browser's`(_ client: String, _ ends: Bool) async throws {
    let home = NSTemporaryDirectory() + "handstamp-scope-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: home) }
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    try await OwnServer.run { server async throws in
      try await server.signUp()
      let log = home + "/words"
      let login = try Child(
        ["login", "--issuer", server.url, "--browser", "--no-browser", "--client-id", client],
        variables: ["HANDSTAMP_HOME": home], log: log)
      let page = try await RunningCommand(log: log).line { lines in
        lines.first { $0.hasPrefix("open ") && $0.contains("state=") }.map { String($0.dropFirst("open ".count)) }
      }
      // It asks for the scope in any case, since the server has a client that may.
      #expect(page.contains("offline_access"))
      try await WebPerson().visit(page)
      let status = try await login.outcome().status
      let words = try String(contentsOfFile: log, encoding: .utf8)
      #expect(status == 0, "\(words)")
      #expect(words.contains("this session ends when the browser signs out at \(server.url)") == ends, "\(words)")
    }
  }
}
#endif
