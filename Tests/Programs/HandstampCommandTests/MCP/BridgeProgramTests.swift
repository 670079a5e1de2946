#if Programs
import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp mcp` {
    private static let ping = #"{"jsonrpc":"2.0","id":"p","method":"tools/call"}"#

    @Test(arguments: [
      ["mcp", "http://mcp.example.org/mcp"], ["mcp", "mcp.example.org"], ["mcp", "bridge", "https://x/#f"],
      ["mcp", "login", "ftp://x/"],
    ])
    func `refuses a URL that no token may be sent to`(arguments: [String]) async throws {
      try await ProcessFixture.inFolder { folder in
        let outcome = try await ProcessFixture.handstamp(arguments, home: folder + "/home")
        try expectRefusal(outcome, .usage, hint: "")
        #expect(!FileManager.default.fileExists(atPath: folder + "/home/mcp"), "it leaves nothing behind")
      }
    }

    @Test func `refuses a token from the environment`() async throws {
      try await ProcessFixture.inFolder { folder in
        let outcome = try await ProcessFixture.handstamp(
          ["mcp", "https://x/"], home: folder + "/home", variables: ["HANDSTAMP_TOKEN": "x"])
        try expectRefusal(outcome, .failure, naming: "HANDSTAMP_TOKEN", hint: "unset")
      }
    }

    @Test func `answers each request, also garbage, while the server is down, and ends with its input`() async throws {
      try await ProcessFixture.inFolder { folder in
        let home = folder + "/home"
        let outcome = try await ProcessFixture.handstamp(
          ["mcp", "http://127.0.0.1:\(try FreePort.find())/mcp"], home: home,
          input: Self.ping + "\nnot JSON\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n{\"half")
        #expect(outcome.status == 0, "\(outcome.words)")
        let lines = outcome.out.split(separator: "\n").map(String.init)
        #expect(lines.count { $0.contains("-32700") && $0.contains(#""id":null"#) } == 2, "\(outcome.out)")
        #expect(lines.count { $0.contains(#""id":"p""#) && $0.contains("no answer from http://127.0.0.1") } == 1)
        #expect(lines.count == 3 && outcome.words.contains("no answer"), "a notification has no answer but words")
        #expect(Home(path: home).bridges.isEmpty)
      }
    }

    @Test func `is listed while it runs, and not after it was killed`() async throws {
      try await ProcessFixture.inFolder { folder in
        let home = folder + "/home"
        let url = "http://127.0.0.1:\(try FreePort.find())/mcp"
        let bridge = try Child(["mcp", url], variables: ["HANDSTAMP_HOME": home])
        #expect(await eventually { Home(path: home).bridges.map(\.url) == [url] })
        #expect(Home(path: home).bridges.first?.process == bridge.id)
        bridge.send(SIGKILL)
        _ = try await within(.seconds(240), "its end") { try await bridge.outcome() }
        #expect(Home(path: home).bridges.isEmpty)
        let left = try FileManager.default.contentsOfDirectory(atPath: home + "/mcp/running")
        #expect(left.isEmpty, "its note is removed: \(left)")
      }
    }
  }
}
#endif
