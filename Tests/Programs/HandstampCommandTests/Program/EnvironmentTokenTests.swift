#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `HANDSTAMP_TOKEN` {
    @Test func `takes precedence, is reported, and is never stored`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.login(stage.second, deviceName: "other")
        let token = try await stage.storedToken(of: stage.second)
        let variables = ["HANDSTAMP_TOKEN": token]
        func run(_ arguments: String...) async throws -> Child.Outcome {
          try await ProcessFixture.handstamp(arguments, home: stage.first.path, variables: variables)
        }
        #expect(try await run("token").out == token + "\n")
        #expect(try object(try await run("token", "--json").out)["source"] as? String == "environment")
        let current = try await run("sessions", "--json").out
        let items = try #require(try object(current)["sessions"] as? [[String: Any]])
        let used = items.first { $0["current"] as? Bool == true }
        let second = try await stage.session(of: stage.second).id.rawValue
        #expect(used?["id"] as? String == second, "the token's session is the current one")
        #expect(try await run("status").out.contains("HANDSTAMP_TOKEN is set"))
        #expect(try object(try await run("status", "--json").out)["environmentToken"] as? Bool == true)
        for verb in ["login", "logout", "signup"] {
          try expectRefusal(
            try await run(verb), .failure, naming: "HANDSTAMP_TOKEN", hint: "unset HANDSTAMP_TOKEN")
        }
        let scan = SecretScan([token])
        for file in try FileManager.default.subpathsOfDirectory(atPath: stage.first.path) {
          let content = FileManager.default.contents(atPath: "\(stage.first.path)/\(file)") ?? Data()
          #expect(!scan.finds(in: Array(content)))
        }
      }
    }

    @Test func `rejected by the server exits with 4 and refreshes nothing`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        stage.proxy.forget()
        let outcome = try await ProcessFixture.handstamp(
          ["request", "/v1/me", "--json"], home: stage.first.path, variables: ["HANDSTAMP_TOKEN": "nonsense"])
        try expectRefusal(
          outcome, .signInNeeded, code: "sign_in_needed", naming: "HANDSTAMP_TOKEN", hint: "unset")
        #expect(stage.proxy.refreshes.isEmpty)
      }
    }
  }
}
#endif
