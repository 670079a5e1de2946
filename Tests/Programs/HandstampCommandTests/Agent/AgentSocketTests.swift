#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `The socket of an agent` {
    @Test func `refuses whatever is not a question, in time, and serves others meanwhile`() async throws {
      try await AgentFixture.run { fixture in
        func answer(_ text: String) async -> String { await UnixClient.send(Array(text.utf8), to: fixture.socket) }
        // Half a request; its client waits and gets 408.
        async let half = answer("GET /token HTTP/1.1\r\nHost: a\r\n")
        for (question, status) in [
          ("GET /token?min_validity=soon", 400), ("GET /token?replacing=abc", 400), ("GET /token?account=bob", 400),
          ("GET /", 404), ("GET /token/", 404), ("GET /../token", 404), ("POST /token", 405), ("DELETE /token", 405),
        ] {
          let text = await answer(question + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
          #expect(text.hasPrefix("HTTP/1.1 \(status) "), "\(question): \(text)")
          #expect(text.contains("application/problem+json") && text.contains(#""hint":"#), "\(text)")
          #expect(!text.contains(#""token""#))
        }
        #expect(await answer("\u{0}\u{1}\u{2} nonsense\r\n\r\n").hasPrefix("HTTP/1.1 400 "))
        let long = await answer("GET /token?" + String(repeating: "a", count: 100_000) + " HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(long.isEmpty || long.hasPrefix("HTTP/1.1 4"), "\(long.prefix(100))")
        let body = await answer(
          "GET /token HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1000000000\r\n\r\n")
        #expect(!body.hasPrefix("HTTP/1.1 5"), "\(body.prefix(100))")
        #expect(await half.hasPrefix("HTTP/1.1 408 "))
        _ = try await fixture.token()
      }
    }

    @Test func `takes no place that it should not`() async throws {
      try await AgentFixture.run { fixture in
        let stage = fixture.stage
        func start(_ socket: String) async throws -> Child.Outcome {
          try await ProcessFixture.handstamp(["agent", "--socket", socket], home: stage.first.path)
        }
        let second = try await start(fixture.socket)
        try expectRefusal(second, .configuration, naming: "another process listens", hint: "another path")
        _ = try await fixture.token()

        let folder = stage.folder + "/run"
        try expectRefusal(
          try await start(folder + "/" + String(repeating: "x", count: 108)), .usage, naming: "the system allows",
          hint: "--socket")
        for name in ["link", "dangling", "file"] {
          let path = folder + "/" + name
          switch name {
          case "link": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: fixture.socket)
          case "dangling": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder + "/x")
          default: try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
          }
          try expectRefusal(try await start(path), .configuration, naming: "is no socket", hint: "--socket")
        }
        #expect(FileManager.default.contents(atPath: folder + "/file") == Data("mine".utf8))
        #expect(!FileManager.default.fileExists(atPath: folder + "/x"))

        let shared = stage.folder + "/shared"
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        try #require(chmod(shared, 0o1777) == 0)
        try expectRefusal(
          try await start(shared + "/a.sock"), .failure, naming: "other users can write", hint: "chmod go-w")
      }
    }

    @Test func `belongs to one of two agents that start at once`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let socket = stage.folder + "/run/agent.sock"
        let agents = try (0..<6).map { _ in
          try Child(["agent", "--socket", socket], variables: ["HANDSTAMP_HOME": stage.first.path], input: "")
        }
        let lines = try await within(.seconds(240), "the starts") {
          try await withThrowingTaskGroup(of: String.self) { group in
            for agent in agents { group.addTask { try await agent.line() } }
            return try await group.reduce(into: [String]()) { $0.append($1) }
          }
        }
        #expect(lines.count { $0 == socket } == 1 && lines.count { $0.isEmpty } == 5, "\(lines)")
        let outcome = try await ProcessFixture.handstamp(
          ["token"], home: stage.second.path, variables: ["HANDSTAMP_AGENT": socket])
        #expect(outcome.status == 0, "\(outcome.words)")
      }
    }

    /// Another user is one that the kernel names, whatever it sends.
    @Test(.enabled(if: getuid() == 0)) func `serves the users that it was told of`() async throws {
      let folder = NSTemporaryDirectory() + "handstamp-agent-\(UInt32.random(in: 0 ... .max))"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try #require(chmod(folder, 0o755) == 0)
      try await AgentFixture.run(["--allow-uid", "12345"], socket: folder + "/agent.sock") { fixture in
        #expect(try AgentFixture.mode(of: fixture.socket) == 0o666)
        func status(as user: String) async throws -> String {
          try await OtherProgram.run([
            "setpriv", "--reuid", user, "--regid", user, "--clear-groups", "curl", "-sS", "-o", "/dev/null", "-w",
            "%{http_code}", "--unix-socket", fixture.socket, "http://agent/token",
          ]).out
        }
        #expect(try await status(as: "12345") == "200")
        #expect(try await status(as: "12346") == "403")
        #expect(try await status(as: "0") == "200")
        #expect(await eventually { fixture.words.contains("refused user 12346") })
        let others = try await fixture.stage.agent(at: folder + "/own.sock")
        let refused = try await OtherProgram.run([
          "setpriv", "--reuid", "12345", "--clear-groups", "curl", "-sS", "--unix-socket", others.socket,
          "http://agent/token",
        ])
        #expect(refused.status == 7, "the mode of the socket alone keeps others out: \(refused.out)")
      }
    }
  }
}
#endif
