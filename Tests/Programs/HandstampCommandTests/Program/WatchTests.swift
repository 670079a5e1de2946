#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp watch` {
    @Test func `shows sessions that come and go, and ends with its own, saying why`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let watch = try Child(["watch", "--json"], variables: ["HANDSTAMP_HOME": stage.first.path], input: "")
        try await Step.until("an open feed") { stage.proxy.openStreams > 0 }
        try await stage.login(stage.second, deviceName: "other")
        let first = try object(try await watch.line() + "\n")
        #expect(first["event"] as? String == "session-established" && first["current"] as? Bool == false)
        #expect(first["atEpoch"] is Int && first["schemaVersion"] as? Int == 1)
        try await stage.run(["revoke", "--others"], on: stage.second)
        let outcome = try await within(.seconds(240), "the end") { try await watch.outcome() }
        #expect(outcome.words.contains("watching ada@example.org at "))
        try expectJSONRefusal(
          outcome, .signInNeeded, code: "session_ended", hint: "run: handstamp login")
        let last = try #require(outcome.out.split(separator: "\n").last)
        let event = try object(last + "\n")
        #expect(event["event"] as? String == "session-revoked" && event["current"] as? Bool == true)
        #expect(event["reason"] as? String == "revoked")
      }
    }

    @Test func `continues across a server restart without missing events`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let watch = try Child(["watch"], variables: ["HANDSTAMP_HOME": stage.first.path], input: "")
        try await Step.until("an open feed") { stage.proxy.openStreams > 0 }
        try await stage.server.stop()
        try await Step.until("the end of the feed") { stage.proxy.openStreams == 0 }
        // Bypass the wire, so that the watch cannot reconnect before the event.
        let address = try await stage.server.start(accessTokenLife: "10m")
        let login = try await ProcessFixture.handstamp(
          ["login", stage.email, "--server", address], home: stage.second.path, input: stage.password + "\n")
        #expect(login.status == 0)
        stage.proxy.lead(to: address)
        #expect(try await within(.seconds(240), "the event") { try await watch.line() }.contains("session-established"))
        // Sign out on this device in another process.
        try await stage.run(["logout"], on: stage.first)
        let outcome = try await within(.seconds(240), "the end") { try await watch.outcome() }
        expectEnd(outcome)
      }
    }

    private func expectEnd(_ outcome: Child.Outcome) {
      #expect(outcome.status == ExitReason.signInNeeded.rawValue)
      #expect(outcome.words.contains("watching ada@example.org at "))
      #expect(outcome.words.contains("hint: run: handstamp login"))
    }

    @Test func `needs a stored session, not a token from the environment`() async throws {
      try await ProcessFixture.run { stage in
        try expectRefusal(
          try await stage.run(["watch", "--json"], on: stage.first, expecting: .signInNeeded), .signInNeeded,
          code: "signed_out", hint: "login")
        let outcome = try await ProcessFixture.handstamp(
          ["watch", "--json"], home: stage.first.path, variables: ["HANDSTAMP_TOKEN": "x"])
        try expectRefusal(outcome, .failure, code: "failed", naming: "HANDSTAMP_TOKEN", hint: "unset")
      }
    }
  }
}
#endif
