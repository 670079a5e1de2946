#if Programs
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The server’s audit log` {
  private func entries(_ test: TestServer) async throws -> [AuditedAction] {
    try await test.server.registry.auditedActions(limit: 1000).map(\.audited)
  }

  private func guesses(_ test: TestServer) async throws -> [AuditedAction] {
    try await entries(test).filter { $0.action == "password.guesses_stopped" }
  }

  @Test func `has what owners did, from where`() async throws {
    try await TestServer.run(mailer: Post()) { test in
      let ada = try await test.signUp(device: "phone")
      _ = try await test.signIn(device: "laptop")
      #expect(try await test.client.send("POST", "/v1/sessions/end-others", token: ada.access).json["ended"] == 1)
      let changed = try await test.client.post(
        "/v1/password", token: ada.access,
        json: #"{"current":"\#(TestServer.password)","new":"another long one","end_others":true}"#)
      #expect(changed.status == 204)
      let code = try await test.server.administration(by: .machineUser("bob"))
        .issueResetCode(of: AccountID(ada.account)).code.withExposed { $0 }
      let reset = try await test.client.post(
        "/v1/password-reset/confirm", json: #"{"token":"\#(code)","new_password":"\#(TestServer.password)"}"#)
      #expect(reset.status == 204)
      let again = try await test.signIn()
      let deleted = try await test.client.send(
        "DELETE", "/v1/me", token: again.access, headers: ["Content-Type": "application/json"],
        body: Array(#"{"password":"\#(TestServer.password)"}"#.utf8))
      #expect(deleted.status == 204)
      let all = try await entries(test)
      #expect(
        all.map(\.action) == [
          "account.created", "session.began", "session.began", "sessions.ended", "password.changed",
          "password.reset_code_issued", "password.reset", "session.began", "account.deleted",
        ])
      #expect(all.map(\.actor) == Array(repeating: "owner", count: 5) + ["operator:bob", "owner", "owner", "owner"])
      #expect(all.map { $0.address ?? "-" } == all.map { $0.actor == "owner" ? "127.0.0.1" : "-" })
      #expect(all[2].details == #"{"way":"password","device":"laptop"}"#)
      #expect(all.allSatisfy { $0.account?.rawValue == ada.account })
    }
  }

  /// Also entries of a command or another server, which only the store tells of.
  @Test func `is copied to the server’s log, each entry once, whichever server made it`() async throws {
    try await TestServer.run(mailer: Post()) { test in
      let relays = [AuditRelay(server: test.server), AuditRelay(server: test.server)]
      let ada = try await test.signUp(device: "phone")
      _ = try await test.server.administration(by: .machineUser("bob")).issueResetCode(of: AccountID(ada.account))
      for _ in 0..<3 {
        await withTaskGroup(of: Void.self) { group in for relay in relays { group.addTask { await relay.relay() } } }
      }
      let copied = test.logs.entries.filter { $0.message == "Audit" }
      #expect(
        copied.map { $0.metadata["handstamp.action"] } == [
          "account.created", "session.began", "password.reset_code_issued",
        ])
      #expect(copied.map { $0.metadata["handstamp.id"] } == ["1", "2", "3"])
      #expect(
        copied[1].metadata["handstamp.address"] == "127.0.0.1" && copied[1].metadata["handstamp.account"] == ada.account
      )
      #expect(copied[1].metadata["handstamp.details"] == #"{"way":"sign_up","device":"phone"}"#)
      #expect(copied[2].metadata["handstamp.actor"] == "operator:bob")
    }
  }

  @Test func `has a copied token`() async throws {
    try await TestServer.run { test in
      let ada = try await test.signUp()
      _ = try await test.refresh(ada.refresh, key: .fresh)
      #expect(try await test.refresh(ada.refresh, key: .fresh).json["reason"] == "token_reuse")
      _ = try await test.refresh(ada.refresh, key: .fresh)
      let all = try await entries(test).filter { $0.session != nil && $0.action != "session.began" }
      #expect(all.map(\.action) == ["session.theft_detected"], "once")
      #expect(all.first?.actor == "server" && all.first?.address == "127.0.0.1")
      #expect(all.first?.session?.rawValue == ada.id && all.first?.account?.rawValue == ada.account)
    }
  }

  @Test func `has guesses that were stopped, once for each stop`() async throws {
    try await TestServer.run { test in
      let ada = try await test.signUp(device: "phone")
      func guess(_ email: String = "ada@example.org") async throws {
        _ = try await test.client.post("/v1/sign-in", json: TestServer.signInBody(email, password: "not this one"))
      }
      for _ in 0..<9 { try await guess() }
      let refused = try await entries(test).filter { $0.action == "sign_in.refused" }
      #expect(refused.map { $0.account?.rawValue } == [ada.account], "the first one")
      let hash = try test.server.administration(by: .machineUser("bob")).pseudonym(of: "Ada@example.org")
      #expect(refused.first?.details == #"{"way":"password","email_hash":"\#(hash)"}"#)
      #expect(try await guesses(test).isEmpty)
      for _ in 0..<5 { try await guess() }
      #expect(try await guesses(test).map(\.action) == ["password.guesses_stopped"])
      #expect(try await guesses(test).first?.account?.rawValue == ada.account)
      #expect(try await guesses(test).first?.details == #"{"wrong":10}"#)
      for _ in 0..<20 {
        test.clock.advance(by: .seconds(30))
        try await guess()
      }
      #expect(try await guesses(test).count == 1, "the row goes on")
      // Alike without an account.
      for _ in 0..<12 { try await guess("eve@example.org") }
      #expect(try await guesses(test).map { $0.account?.rawValue } == [ada.account, nil])
    }
  }

  @Test func `is kept longer than events`() async throws {
    try await TestServer.run { test in
      let ada = try await test.signUp()
      _ = try await test.client.send("DELETE", "/v1/sessions", token: ada.access)
      func left(after days: Int64) async throws -> Int {
        while try await test.server.registry.prune(now: test.clock.now.advanced(by: .seconds(days * 86_400))) > 0 {}
        return try await entries(test).count
      }
      #expect(try await left(after: 364) == 3)
      #expect(try await left(after: 366) == 0)
    }
  }
}
#endif
