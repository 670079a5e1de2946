#if Programs
import Foundation
import Handstamp
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp token` {
    @Test func `returns a token with the minimum lifetime, and keeps one that has it`() async throws {
      try await ProcessFixture.run(accessTokenLife: "10s") { stage in
        try await stage.signUp(stage.first)
        let lifetime = try #require(try await stage.session(of: stage.first).access?.lifetime)
        let old = try await stage.storedToken(of: stage.first)
        #expect(try await stage.run(["token"], on: stage.first).out == old + "\n")
        try await Step.until("less than eight seconds left") {
          lifetime.remaining(at: SystemClock().now()) < .seconds(8)
        }
        let new = try await stage.run(["token", "--min-validity", "8s", "--json"], on: stage.first).out
        let json = try object(new)
        #expect(json["token"] as? String != old && json["source"] as? String == "session")
        #expect(json["expiresAt"] is String && json["expiresAtEpoch"] is Int)
        #expect(stage.proxy.refreshes.count == 1)
        // A minimum beyond the lifetime is capped, so that clients do not refresh in a loop.
        try await stage.run(["token", "--min-validity", "30d"], on: stage.first)
        #expect(stage.proxy.refreshes.count == 1)
      }
    }

    @Test func `ends with its session, and the status says so`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let verified = try await stage.run(["status", "--verify", "--check", "--json"], on: stage.first)
        #expect(try object(verified.out)["verified"] as? Bool == true)
        let before = try await stage.run(["status", "--json"], on: stage.first).out
        #expect(try object(before)["verified"] == nil, "the server was not asked")
        try await stage.login(stage.second, deviceName: "other")
        try await stage.run(["revoke", "--others"], on: stage.second)
        try await stage.run(["status", "--check"], on: stage.first)
        try await stage.run(["status", "--verify", "--check"], on: stage.first, expecting: .signInNeeded)
        let after = try object(try await stage.run(["status", "--json"], on: stage.first).out)
        #expect(after["state"] as? String == "signed_out" && after["reason"] as? String == "revoked")
      }
    }

    @Test func `and logout do not wait for a server that hangs`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        stage.server.send(SIGSTOP)
        defer { stage.server.send(SIGCONT) }
        try await stage.run(["token"], on: stage.first)
        let outcome = try await stage.run(["logout"], on: stage.first)
        #expect(outcome.words.contains("cannot revoke the session at"))
      }
    }

    @Test func `and request read the body from the given source`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let file = stage.folder + "/body"
        try Data("{}".utf8).write(to: URL(fileURLWithPath: file))
        for data in ["@" + file, "{}"] {
          let answer = try await stage.run(["request", "/v1/sessions/end-others", "-d", data], on: stage.first)
          #expect(answer.out.contains(#""ended":0"#))
        }
        try expectRefusal(
          try await stage.run(["request", "/x", "-d", "@/none", "--json"], on: stage.first, expecting: .failure),
          .failure, code: "failed", naming: "/none", hint: "stdin")
        try expectRefusal(
          try await stage.run(["request", "/x", "-H", "nonsense", "--json"], on: stage.first, expecting: .usage),
          .usage, code: "usage", naming: "header", hint: "Name: value")
        try expectRefusal(
          try await stage.run(["request", "/x", "-H", "X: a\nY: b", "--json"], on: stage.first, expecting: .usage),
          .usage, code: "invalid_url_request", hint: "--help")
        let other = try await stage.run(["request", "-X", "put", "/v1/me"], on: stage.first, expecting: .failure)
        #expect(other.words.contains("405"))
      }
    }
  }
}
#endif
