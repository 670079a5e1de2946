#if Programs
import Foundation
import Handstamp
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp token` {
    /// Lets the access token in the vault be older, as if that much time had passed.
    private func age(_ stage: TourFixture, by time: Duration) async throws {
      let vault = stage.first.vault(of: try await stage.account(of: stage.first).id)
      let entry = try await stage.entry(of: stage.first)
      var session = try #require(entry.session)
      var lifetime = try #require(session.access?.lifetime)
      lifetime.start = lifetime.start.advanced(by: .zero - time)
      session.access?.lifetime = lifetime
      guard case .done = await vault.edit(.putBack(session, revision: entry.revision)) else {
        throw TourFailure("the vault was not written")
      }
    }

    @Test func `returns a token with the minimum lifetime, and keeps one that has it`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let old = try await stage.storedToken(of: stage.first)
        #expect(try await stage.run(["token"], on: stage.first).out == old + "\n")
        try await age(stage, by: .seconds(300))
        #expect(try await stage.run(["token", "--min-validity", "1m"], on: stage.first).out == old + "\n")
        let new = try await stage.run(["token", "--min-validity", "6m", "--json"], on: stage.first).out
        let json = try object(new)
        #expect(json["token"] as? String != old && json["source"] as? String == "session")
        #expect(json["expiresAt"] is String && json["expiresAtEpoch"] is Int)
        #expect(stage.proxy.refreshes.count == 1)
        // A minimum beyond the lifetime is capped, so that clients do not refresh in a loop.
        try await stage.run(["token", "--min-validity", "30d"], on: stage.first)
        #expect(stage.proxy.refreshes.count == 1)
      }
    }

    @Test func `prints the header fields of a request, and no token for another API without OAuth`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try await stage.storedToken(of: stage.first)
        let headers = try await stage.run(["token", "--as-headers"], on: stage.first)
        #expect(try object(headers.out) as? [String: String] == ["Authorization": "Bearer " + token])
        try expectRefusal(
          try await stage.run(["token", "--as-headers", "--json"], on: stage.first, expecting: .usage), .usage,
          code: "usage", naming: "JSON", hint: "omit --json")
        for options in [["--resource", "https://api.example.org"], ["--scope", "mail"], ["--audience", "billing"]] {
          try expectRefusal(
            try await stage.run(["token"] + options, on: stage.first, expecting: .failure), .failure,
            naming: "one access token", hint: "handstamp login --issuer")
        }
        try expectRefusal(
          try await stage.run(["token", "--scope", " "], on: stage.first, expecting: .usage), .usage,
          naming: "need a value", hint: "omit")
        try expectRefusal(
          try await stage.run(["token", "--id-token", "--scope", "a"], on: stage.first, expecting: .usage), .usage,
          naming: "its client alone", hint: "omit --id-token")
        #expect(stage.proxy.refreshes.isEmpty)
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
        let over = try await stage.run(["status", "--verify", "--json"], on: stage.first, expecting: .signInNeeded)
        #expect(try object(over.out)["verified"] as? Bool == false, "the exit code says so without --check")
        let after = try object(try await stage.run(["status", "--json"], on: stage.first).out)
        #expect(after["state"] as? String == "signed_out" && after["reason"] as? String == "revoked")
      }
    }

    @Test func `needs a session, and so does the verification`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.run(["status"], on: stage.first)
        try await stage.run(["status", "--verify"], on: stage.first, expecting: .signInNeeded)
        try await stage.signUp(stage.first)
        try await stage.run(["status", "--verify"], on: stage.first)
        let refused = try await ProcessFixture.handstamp(
          ["status", "--verify"], home: stage.first.path, variables: ["HANDSTAMP_TOKEN": "other"])
        #expect(refused.status == ExitReason.signInNeeded.rawValue, "\(refused.words)")
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
