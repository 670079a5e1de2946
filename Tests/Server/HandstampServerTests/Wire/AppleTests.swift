#if Programs
import HandstampCore
import HandstampRegistry
import HTTPTypes
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Sign in with Apple` {
  struct World {
    let test: TestServer
    let apple: AppleStub

    func token(_ change: (inout AppleStub.Token) -> Void = { _ in }) -> String {
      AppleStub.Token(until: test.clock.now.advanced(by: .seconds(300)), change).text
    }

    func signIn(
      _ token: String, nonce: String = AppleStub.nonce, device: String = "phone"
    ) async throws -> WireClient.Answer {
      try await test.client.post(
        "/v1/sign-in/apple",
        json: #"""
          {"id_token":"\#(token)","nonce":"\#(nonce)","username":"Ada",
          "device":{"id":"d-\#(device)","name":"\#(device)","platform":"iOS"}}
          """#)
    }

    /// A sign-in with its own nonce.
    func signIn(fresh number: Int, device: String = "phone") async throws -> WireClient.Answer {
      let nonce = "nonce number \(number) of this test"
      return try await signIn(token { $0.nonce = nonce }, nonce: nonce, device: device)
    }
  }

  private func run(
    signUp: ServerConfiguration.SignUp = .open, behind gate: Gate? = nil, _ body: (World) async throws -> Void
  ) async throws {
    try await AppleStub.run(behind: gate) { apple, url in
      let signIn = AppleSignIn(
        clientIDs: ["org.example.web", AppleStub.clientID], issuer: AppleStub.issuer, keysURL: url,
        transport: PatientTransport())
      try await TestServer.run(apple: signIn, { $0.signUp = signUp }) { test in
        try await body(World(test: test, apple: apple))
      }
    }
  }

  @Test(arguments: [480, -480]) func `works while the server's clock is doubted, once for a token`(
    ahead: Int64
  ) async throws {
    try await run { world async throws in
      world.test.clock.jump(by: .seconds(ahead))
      for (number, time) in [world.test.clock.now, world.test.server.now()].enumerated() {
        let nonce = "nonce number \(number) of this test"
        let token = AppleStub.Token(until: time.advanced(by: .seconds(300))) {
          ($0.nonce, $0.issuedAt) = (nonce, time)
        }.text
        #expect(try await world.signIn(token, nonce: nonce).status == 200)
        await Sweeper(server: world.test.server).sweep()
        #expect(try await world.signIn(token, nonce: nonce).status != 200)
      }
    }
  }

  @Test func `creates an account at first, and finds it by subject, never by address`() async throws {
    try await run { world async throws in
      let local = try await world.test.signUp("ada@example.org")
      let first = try await world.signIn(world.token())
      #expect(first.status == 200)
      #expect(first.headers["cache-control"] == "no-store")
      #expect(first.json[object: "profile"]["is_anonymous"] == false)
      #expect(first.json[object: "profile"]["name"] == "Ada")
      let account = try TestServer.Session(first).account
      // The address in the token opens no existing account, and reserves none.
      #expect(account != local.account)
      let me = try await world.test.client.get("/v1/me", token: try TestServer.Session(first).access)
      #expect(me.json["email"] as String? == nil)
      let again = try await world.signIn(fresh: 1, device: "laptop")
      #expect(try TestServer.Session(again).account == account)
      let other = try await world.signIn(
        world.token {
          $0.subject = "002.eve"
          $0.nonce = "another nonce, of another person"
        }, nonce: "another nonce, of another person")
      #expect(try TestServer.Session(other).account != account)
      #expect(world.apple.fetches == 1)
      #expect(world.test.metrics.passwordHashes == 1)
    }
  }

  @Test func `accepts a nonce once, from any sender, even concurrently`() async throws {
    try await run { world async throws in
      let token = world.token()
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<8 {
          group.addTask { try await world.signIn(token, device: "device \(number)").status }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses.sorted() == [200] + Array(repeating: 403, count: 7))
      let other = try await world.signIn(world.token { $0.subject = "002.eve" })
      #expect(other.status == 403)
      #expect(other.code == "id_token_invalid")
    }
  }

  static let refused: [(String, @Sendable (inout AppleStub.Token) -> Void)] = [
    ("another issuer", { $0.issuer = "https://appleid.evil.example" }),
    ("another app", { $0.audience = "org.example.other" }),
    ("expired", { $0.expiresAt = $0.expiresAt.advanced(by: .seconds(-300)) }),
    ("another nonce", { $0.nonce = "a nonce of another app" }),
    ("no nonce", { $0.nonce = nil }),
    ("another key", { $0.signedBy = "two" }),
    ("an unknown key", { $0.kid = "two" }),
    ("no algorithm", { $0.alg = "none" }),
    ("another algorithm", { $0.alg = "RS384" }),
    ("a shared secret", { $0.alg = "HS256" }),
    ("a critical header field", { $0.crit = #","crit":["exp"]"# }),
    ("no subject", { $0.subject = "" }),
    ("an overlong subject", { $0.subject = String(repeating: "x", count: 256) }),
  ]

  @Test(arguments: refused.indices)
  func `answers every invalid token alike`(_ index: Int) async throws {
    try await run { world async throws in
      let answer = try await world.signIn(world.token(Self.refused[index].1))
      #expect(answer.status == 403, "\(Self.refused[index].0)")
      #expect(answer.isProblem)
      let garbage = try await world.signIn("garbage")
      #expect(answer.body == garbage.body)
      // The refused token did not use up the nonce.
      #expect(try await world.signIn(world.token()).status == 200)
    }
  }

  @Test func `refuses a token with any changed bit`() async throws {
    try await run { world async throws in
      let parts = world.token().split(separator: ".").map { String($0) }
      let eve = world.token { $0.subject = "002.eve" }.split(separator: ".").map { String($0) }
      let spoilt: [[String]] = [
        [parts[0], eve[1], parts[2]], [parts[0], parts[1], eve[2]], [parts[0], parts[1], ""],
        [parts[0], parts[1]], parts + [""], [parts[0], parts[1], String(parts[2].dropLast())],
        [String(repeating: "A", count: 9000), parts[1], parts[2]],
      ]
      for token in spoilt {
        let answer = try await world.signIn(token.joined(separator: "."))
        #expect(answer.status == 403)
      }
      let short = try await world.signIn(world.token(), nonce: "short")
      #expect(short.status == 403)
      let whole = try await world.signIn(parts.joined(separator: "."))
      #expect(whole.status == 200)
    }
  }

  @Test func `caches keys as long as allowed, and fetches an unknown one once`() async throws {
    try await run { world async throws in
      #expect(try await world.signIn(fresh: 1).status == 200)
      world.test.clock.advance(by: .milliseconds(599_999))
      #expect(try await world.signIn(fresh: 2).status == 200)
      #expect(world.apple.fetches == 1)
      world.test.clock.advance(by: .milliseconds(1))
      #expect(try await world.signIn(fresh: 3).status == 200)
      #expect(world.apple.fetches == 2)
      // A new key is published before it signs.
      world.apple.set { $0.kids = ["two"] }
      world.test.clock.advance(by: .milliseconds(29_999))
      func signIn(_ number: Int) async throws -> Int {
        let nonce = "a nonce for the second key, \(number)"
        return try await world.signIn(
          world.token {
            $0.kid = "two"
            $0.nonce = nonce
          }, nonce: nonce
        ).status
      }
      // Unknown key names cause no more fetches than this.
      #expect(try await signIn(1) == 403)
      #expect(world.apple.fetches == 2)
      world.test.clock.advance(by: .milliseconds(1))
      #expect(try await signIn(1) == 200)
      #expect(world.apple.fetches == 3)
      // The old key is gone with it.
      #expect(try await world.signIn(fresh: 4).status == 403)
      #expect(world.apple.fetches == 3)
    }
  }

  @Test func `answers 503 while there are no keys, and uses cached keys for a while`() async throws {
    try await run { world async throws in
      world.apple.set { $0.status = .internalServerError }
      let down = try await world.signIn(fresh: 1)
      #expect(down.status == 503)
      #expect(down.headers["retry-after"] == "1")
      world.test.clock.advance(by: KeySet.pause)
      for body in ["", "[]", #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","kid":"one","k":"AAAA"}]}"#] {
        world.apple.set {
          $0.status = .ok
          $0.body = body
        }
        #expect(try await world.signIn(fresh: 1).status == 503)
        world.test.clock.advance(by: KeySet.pause)
      }
      world.apple.set { $0.body = nil }
      #expect(try await world.signIn(fresh: 1).status == 200)
      world.apple.set { $0.status = .internalServerError }
      world.test.clock.advance(by: .seconds(600) + KeySet.grace - .milliseconds(1))
      #expect(try await world.signIn(fresh: 2).status == 200)
      world.test.clock.advance(by: .milliseconds(1))
      #expect(try await world.signIn(fresh: 3).status == 503)
      world.test.store.fail(.writes)
      world.apple.set { $0.status = .ok }
      world.test.clock.advance(by: KeySet.pause)
      #expect(try await world.signIn(fresh: 3).status == 503)
      world.test.store.fail(.none)
      #expect(try await world.signIn(fresh: 3).status == 200)
    }
  }

  @Test func `fetches keys once for concurrent requests`() async throws {
    let gate = Gate()
    try await run(behind: gate) { world async throws in
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<6 {
          group.addTask { try await world.signIn(fresh: number, device: "device \(number)").status }
        }
        gate.open()
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses == Array(repeating: 200, count: 6))
      #expect(world.apple.fetches == 1)
    }
  }

  @Test func `creates no account if sign-up is closed, nor again for a deleted one`() async throws {
    try await run { world async throws in
      let session = try TestServer.Session(try await world.signIn(fresh: 1))
      #expect(try await world.test.client.send("DELETE", "/v1/me", token: session.access).status == 204)
      #expect(try TestServer.Session(try await world.signIn(fresh: 2)).account != session.account)
    }
    try await run(signUp: .closed) { world async throws in
      let refused = try await world.signIn(fresh: 1)
      #expect(refused.status == 403)
      #expect(refused.code == "sign_up_closed")
    }
    try await TestServer.run { test in
      let answer = try await test.client.post(
        "/v1/sign-in/apple",
        json: #"{"id_token":"x","nonce":"x","device":{"id":"d","name":"d","platform":"iOS"}}"#)
      #expect(answer.status == 403)
      #expect(answer.code == "not_offered")
    }
  }

  @Test(
    arguments: [
      (nil, 3600), ("max-age=600", 600), ("public, max-age=\"600\"", 600), ("max-age=1", 60), ("max-age=-5", 60),
      ("max-age=999999999999999999999", 60), ("max-age=4294967296", 86_400), ("no-store", 60),
      ("max-age=600, no-cache", 60),
      ("private", 3600), ("s-maxage=5", 3600),
    ] as [(String?, Int64)])
  func `caches keys for a time within limits`(_ field: String?, _ seconds: Int64) {
    #expect(KeySet.life(field) == .seconds(seconds))
  }
}
#endif
