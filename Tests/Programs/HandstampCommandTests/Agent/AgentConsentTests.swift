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
  @Suite struct `An agent that asks` {
    /// A program that notes its questions, and ends with a status.
    private func program(_ status: Int, in folder: String) throws -> (path: String, notes: String) {
      let (path, notes) = (folder + "/ask-\(status)", folder + "/asked-\(status)")
      try "#!/bin/sh\necho \"$SSH_ASKPASS_PROMPT: $1\" >> \(notes)\nexit \(status)\n"
        .write(toFile: path, atomically: true, encoding: .utf8)
      try #require(chmod(path, 0o700) == 0)
      return (path, notes)
    }

    private func questions(_ notes: String) -> [String] {
      String(decoding: FileManager.default.contents(atPath: notes) ?? Data(), as: UTF8.self)
        .split(separator: "\n").map(String.init)
    }

    @Test func `hands out nothing after a no, and asks again after its time`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let program = try program(1, in: stage.folder)
        let fixture = try await stage.agent(
          ["--ask-program", program.path, "--remember", "500ms"], at: stage.folder + "/run/a.sock")
        let refused = try await fixture.handstamp("token", "--json")
        try expectRefusal(refused, .failure, code: "access_denied", naming: "did not allow", hint: "allow it")
        #expect(try await fixture.curl().status == 403)
        #expect(
          await eventually {
            _ = try? await fixture.curl()
            return questions(program.notes).count > 1
          })
        #expect(questions(program.notes).first?.hasPrefix("confirm: hand out a token of ada@example.org at ") == true)
        #expect(await eventually { fixture.words.contains("the user did not allow it") })
        #expect(!fixture.words.contains("gave"))
      }
    }

    @Test func `asks once for all that come while a yes counts`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let program = try program(0, in: stage.folder)
        let fixture = try await stage.agent(["--ask-program", program.path], at: stage.folder + "/run/a.sock")
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
          for _ in 0..<8 { group.addTask { try await fixture.curl().status } }
          return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 8))
        #expect(questions(program.notes).count == 1)
      }
    }

    @Test func `hands out nothing if the program that asks is not there`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let fixture = try await stage.agent(
          ["--ask-program", stage.folder + "/none"], at: stage.folder + "/run/a.sock")
        #expect(try await fixture.curl().status == 403)
      }
    }

    @Test(arguments: ["YES\r": 200, "n\r": 403, "\r": 403])
    func `takes a yes at the terminal for a yes, and anything else for a no`(keys: String, status: Int) async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let terminal = try PseudoTerminal()
        let socket = stage.folder + "/run/a.sock"
        let agent = try Child(
          ["agent", "--ask", "--socket", socket], variables: ["HANDSTAMP_HOME": stage.first.path],
          terminal: terminal.screen, screen: terminal.screen)
        #expect(try await within(.seconds(240), "the start") { try await agent.line() } == socket)
        let fixture = AgentFixture(stage: stage, agent: agent, socket: socket, log: "/dev/null")
        async let answer = fixture.curl()
        let shown = Locked("")
        #expect(
          await eventually {
            shown.withLock { $0 += terminal.shown }
            return shown.withLock { $0.contains("[y/N] ") }
          })
        try terminal.typeVisibly(keys)
        #expect(try await answer.status == status)
      }
    }
  }
}
#endif
