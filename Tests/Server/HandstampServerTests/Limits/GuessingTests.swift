#if Programs
import Foundation
import HTTPTypes
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Guessing a password` {
  private func attempt(
    _ test: TestServer, _ email: String = "ada@example.org", password: String = "not this one", device: String = "thief"
  ) async throws -> WireClient.Answer {
    try await test.client.post(
      "/v1/sign-in", json: TestServer.signInBody(email, password: password, device: device))
  }

  @Test func `stops after 10 wrong ones, also before the right one`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      for _ in 0..<10 { #expect(try await attempt(test).status == 401) }
      let hashes = test.metrics.passwordHashes
      let right = try await attempt(test, password: TestServer.password)
      #expect(right.status == 429)
      #expect(right.isProblem)
      #expect(right.code == "rate_limited")
      #expect(right.headers["retry-after"] == "30")
      #expect(right.headers["ratelimit"] == #""guesses";r=0;t=30"#)
      #expect(right.headers["ratelimit-policy"] == #""guesses";q=10;w=300"#)
      #expect(test.metrics.passwordHashes == hashes)
      #expect(test.metrics.guessesStopped == 1)
      test.clock.advance(by: .seconds(30))
      #expect(try await attempt(test, password: TestServer.password).status == 200)
      for _ in 0..<10 { #expect(try await attempt(test).status == 401) }
    }
  }

  @Test func `counts what is being checked while the settings change`() async throws {
    try await TestServer.run { test in
      let caller = AccountService.Caller(
        client: ClientAddress(of: [:], peer: nil, behind: .none), logger: test.logs.logger)
      let attempt = PasswordAttempt(
        email: try #require(EmailAddress("ada@example.org")), password: Secret("p"), caller: caller)
      /// Makes attempts at once, the last ones after a reload.
      func check(_ left: Int) async throws -> Bool {
        if left == 3 {
          try await test.server.reload(
            test.server.configuration, registry: test.server.registry, keys: test.keys)
        }
        let guesses = test.server.current.service.passwordGuard
        return try await guesses.check(attempt, for: nil, at: test.clock.now) { _ in
          left == 1 ? true : try await check(left - 1)
        }
      }
      #expect(try await check(GuessCount.free))
      let refusal = await #expect(throws: AccountError.self) { try await check(GuessCount.free + 1) }
      guard case .rateLimited(let reached)? = refusal else {
        Issue.record("refused by another rule: \(String(describing: refusal))")
        return
      }
      #expect(reached.name == "guesses")
    }
  }

  @Test func `stops for a day after 100 wrong ones in a row`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      for _ in 0..<414 {
        _ = try await attempt(test)
        test.clock.advance(by: .seconds(30))
      }
      #expect(test.metrics.refusedSignIns == 100)
      let stopped = try await attempt(test, password: TestServer.password)
      #expect(stopped.status == 429)
      test.clock.advance(by: .seconds(try #require(stopped.headers["retry-after"].flatMap { Int($0) })))
      #expect(try await attempt(test, password: TestServer.password).status == 200)
    }
  }

  @Test func `does not lock out the owner on a device that was used before`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp(device: "phone")
      for _ in 0..<20 { _ = try await attempt(test) }
      #expect(try await attempt(test, password: TestServer.password).status == 429)
      _ = try await test.signIn(device: "phone")
      // What the owner mistypes there is counted, too, and apart.
      #expect(try await attempt(test, device: "phone").status == 401)
      _ = try await test.signIn(device: "phone")
      // The owner's sign-in does not start the stranger's row over.
      #expect(try await attempt(test, password: TestServer.password).status == 429)
    }
  }

  @Test func `does not lock out the owner while everyone together is limited`() async throws {
    try await TestServer.run {
      $0.limits[.passwords].overall = RateLimit(burst: 5, every: .seconds(3600))
    } body: { test in
      _ = try await test.signUp(device: "phone")
      for number in 0..<6 { _ = try await attempt(test, "\(number)@example.org") }
      #expect(try await attempt(test, password: TestServer.password).status == 429)
      _ = try await test.signIn(device: "phone")
    }
  }

  @Test func `does not use up what everyone together may try, once it is stopped`() async throws {
    try await TestServer.run {
      $0.limits[.passwords].overall = RateLimit(burst: 15, every: .seconds(3600))
    } body: { test in
      _ = try await test.signUp("eve@example.org", device: "phone")
      for _ in 0..<30 { _ = try await attempt(test) }
      #expect(try await attempt(test, "eve@example.org", password: TestServer.password).status == 200)
    }
  }

  @Test func `stops alike for an address without an account`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      for number in 0..<12 {
        let one = try await attempt(test)
        let other = try await attempt(test, "eve@example.org")
        #expect(one.status == (number < 10 ? 401 : 429))
        #expect(one.status == other.status)
        #expect(one.body == other.body)
        #expect(one.sameHeaders == other.sameHeaders)
      }
    }
  }

  @Test func `is not helped by many attempts at once`() async throws {
    try await TestServer.run {
      $0.passwords.queue = 100
    } body: { test in
      _ = try await test.signUp()
      let before = test.metrics.passwordHashes
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<60 { group.addTask { try await attempt(test).status } }
        var statuses: [Int: Int] = [:]
        for try await status in group { statuses[status, default: 0] += 1 }
        #expect(statuses == [401: 10, 429: 50])
      }
      #expect(test.metrics.passwordHashes == before + 10)
    }
  }

  @Test func `is stopped with a stolen session, too`() async throws {
    try await TestServer.run { test in
      let ada = try await test.signUp()
      func change(_ current: String) async throws -> Int {
        try await test.client.post(
          "/v1/password", token: ada.access,
          json: #"{"current":"\#(current)","new":"another long one","end_others":false}"#
        ).status
      }
      for _ in 0..<10 { #expect(try await change("not this one") == 403) }
      #expect(try await change(TestServer.password) == 429)
      let deletion = try await test.client.send(
        "DELETE", "/v1/me", token: ada.access, headers: ["Content-Type": "application/json"],
        body: Array(#"{"password":"\#(TestServer.password)"}"#.utf8))
      #expect(deletion.status == 429)
    }
  }

  @Test func `is stopped across a restart, because the store counts`() async throws {
    let (store, clock) = (FaultyStore(), TestClock())
    try await TestServer.run(clock: clock, store: store) { test in
      _ = try await test.signUp(device: "phone")
      for _ in 0..<10 { #expect(try await attempt(test).status == 401) }
    }
    try await TestServer.run(clock: clock, store: store) { test in
      #expect(try await attempt(test, password: TestServer.password).status == 429)
      _ = try await test.signIn(device: "phone")
    }
  }

  @Test func `is in the log with the client's address and a name for the account that only the server can read`()
    async throws
  {
    try await TestServer.run { test in
      _ = try await test.signUp()
      _ = try await attempt(test)
      _ = try await attempt(test, "ADA@example.org")
      _ = try await attempt(test, "eve@example.org")
      let lines = test.logs.entries.filter { $0.message == "Sign-in refused" }
      #expect(lines.map { $0.metadata["handstamp.address"] } == Array(repeating: "127.0.0.1", count: 3))
      let names = lines.compactMap { $0.metadata["handstamp.email_hash"] }
      #expect(names.count == 3)
      #expect(names[0] == names[1])
      #expect(names[1] != names[2])
      #expect(!test.logs.text.contains("ada@"))
    }
  }
}
#endif
