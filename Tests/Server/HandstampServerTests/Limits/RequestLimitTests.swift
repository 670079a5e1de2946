#if Programs
import Foundation
import HandstampCore
import HandstampServer
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Limits on requests` {
  private let trusting = TrustedProxies([AddressRange("127.0.0.1")].compactMap { $0 })

  private func signUp(_ test: TestServer, _ number: Int, from address: String) async throws -> WireClient.Answer {
    try await test.client.send(
      "POST", "/v1/sign-up", headers: ["Content-Type": "application/json", "X-Forwarded-For": address],
      body: Array(TestServer.signUpBody("\(number)@example.org").utf8))
  }

  @Test func `count by the address that a trusted proxy names`() async throws {
    try await TestServer.run {
      $0.limits[.signUps].perAddress = RateLimit(burst: 2, every: .seconds(30))
      $0.trustedProxies = trusting
    } body: { test in
      var statuses: [Int] = []
      for number in 0..<4 { statuses.append(try await signUp(test, number, from: "192.0.2.1").status) }
      #expect(statuses == [201, 201, 429, 429])
      #expect(try await signUp(test, 4, from: "192.0.2.2").status == 201)
      // What the client itself puts in front of what the proxy appends.
      let refused = try await signUp(test, 5, from: "192.0.2.99, 192.0.2.1")
      #expect(refused.status == 429)
      #expect(refused.code == "rate_limited")
      #expect(refused.headers["retry-after"] == "30")
      #expect(refused.headers["ratelimit-policy"] == #""sign-ups";q=2;w=60"#)
      test.clock.advance(by: .seconds(30))
      #expect(try await signUp(test, 6, from: "192.0.2.1").status == 201)
      #expect(test.metrics.rateLimited == 3)
    }
  }

  @Test func `do not believe the header of a client`() async throws {
    try await TestServer.run {
      $0.limits[.signUps].perAddress = RateLimit(burst: 2, every: .seconds(30))
    } body: { test in
      var statuses: [Int] = []
      for number in 0..<4 { statuses.append(try await signUp(test, number, from: "192.0.2.\(number)").status) }
      #expect(statuses == [201, 201, 429, 429])
    }
  }

  @Test func `can be checked by an operator`() async throws {
    try await TestServer.run {
      $0.trustedProxies = trusting
    } body: { test in
      let direct = try await test.client.get("/v1/client-address")
      #expect(direct.json["address"] == "127.0.0.1")
      #expect(direct.json["source"] == "connection")
      let named = try await test.client.get(
        "/v1/client-address", headers: ["X-Forwarded-For": "9.9.9.9, 2001:db8:1:2:3::4"])
      #expect(named.json["address"] == "2001:db8:1:2:3::4")
      #expect(named.json["network"] == "2001:db8:1:2::")
      #expect(named.json["source"] == "proxy")
    }
  }

  @Test func `of all clients together are not used up by worthless requests`() async throws {
    try await TestServer.run {
      $0.limits[.codes].overall = RateLimit(burst: 2, every: .seconds(3600))
    } body: { test in
      let garbage = "hsl1." + String(repeating: "A", count: 43)
      for _ in 0..<5 {
        let reset = try await test.client.post(
          "/v1/password-reset/confirm", json: #"{"token":"\#(garbage)","new_password":"a long enough one"}"#)
        #expect(reset.code == "link_invalid")
      }
    }
  }

  @Test func `of refreshes count by session and never look like a sign-out`() async throws {
    try await TestServer.run {
      $0.limits[.refreshes].perSubject = RateLimit(burst: 3, every: .seconds(10))
    } body: { test in
      let (ada, bob) = (try await test.signUp(), try await test.signUp("bob@example.org"))
      var token = ada.refresh
      for _ in 0..<3 {
        token = try #require(try await test.refresh(token, key: .fresh).json["refresh_token"])
      }
      let limited = try await test.refresh(token, key: .fresh)
      #expect(limited.status == 429)
      #expect(limited.json["error"] == "temporarily_unavailable")
      #expect(limited.json["error_code"] == "rate_limited")
      #expect(limited.headers["retry-after"] == "10")
      #expect(try await test.refresh(bob.refresh, key: .fresh).status == 200)
      // A stranger without the token cannot use the session's limit up.
      test.clock.advance(by: .seconds(10))
      for _ in 0..<5 { #expect(try await test.refresh(token.dropLast() + "!", key: .fresh).status == 400) }
      #expect(try await test.refresh(token, key: .fresh).status == 200)
    }
  }

  @Test func `of mails count by the address of the mail, and do not stop a sign-in`() async throws {
    try await TestServer.run(mailer: MailFolder(path: NSTemporaryDirectory() + UUID().uuidString)) {
      $0.limits[.mails] = .init(perSubject: RateLimit(burst: 2, every: .seconds(60)))
    } body: { test in
      _ = try await test.signUp()
      func reset(_ email: String) async throws -> Int {
        try await test.client.post("/v1/password-reset", json: #"{"email":"\#(email)"}"#).status
      }
      #expect(
        try await [reset("ada@example.org"), reset("Ada@example.org"), reset("ada@example.org")] == [202, 202, 429])
      #expect(
        try await [reset("eve@example.org"), reset("eve@example.org"), reset("eve@example.org")] == [202, 202, 429])
      _ = try await test.signIn()
    }
  }

  @Test func `of pushed requests leave sign-ins on devices alone`() async throws {
    let clients = try TestServer.clients()
    try await TestServer.run {
      $0.clients = clients
      $0.limits = .standard
    } body: { test in
      let request = [
        ("client_id", "app"), ("response_type", "code"), ("redirect_uri", "http://127.0.0.1:1/cb"),
        ("code_challenge", String(repeating: "A", count: 43)), ("code_challenge_method", "S256"),
      ]
      var statuses: [Int: Int] = [:]
      for _ in 0..<25 { statuses[try await test.oauth("/oauth/par", request).status, default: 0] += 1 }
      #expect(statuses == [201: 20, 429: 5])
      let refused = try await test.oauth("/oauth/par", request)
      #expect(refused.headers["ratelimit-policy"]?.hasPrefix(#""pushed-requests";"#) == true)
      let device = try await test.oauth("/oauth/device_authorization", [("client_id", "own-tv")])
      #expect(device.status == 200)
    }
  }

  @Test func `are on by default`() async throws {
    try await TestServer.run {
      $0.limits = .standard
    } body: { test in
      var statuses: [Int: Int] = [:]
      for number in 0..<40 {
        statuses[try await signUp(test, number, from: "192.0.2.1").status, default: 0] += 1
      }
      #expect(statuses == [201: 20, 429: 20])
    }
  }
}
#endif
