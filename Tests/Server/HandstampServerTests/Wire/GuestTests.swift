#if Programs
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

extension TestServer {
  static func deviceBody(_ device: String) -> String {
    #""device":{"id":"d-\#(device)","name":"\#(device)","platform":"iOS"}"#
  }

  func signInAnonymously(device: String = "phone") async throws -> Session {
    try Session(
      try await client.post("/v1/sign-in/anonymous", json: "{\(TestServer.deviceBody(device))}"))
  }

  /// The account's stream of events, reduced to kinds and reasons.
  func events() async throws -> [String] {
    try await store.events(after: .zero, account: nil, limit: 100).map {
      [$0.event.kind.rawValue, $0.event.reason?.rawValue].compactMap { $0 }.joined(separator: " ")
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A guest` {
  @Test func `has an account, a session and no name`() async throws {
    try await TestServer.run { test in
      let answer = try await test.client.post("/v1/sign-in/anonymous", json: "{\(TestServer.deviceBody("phone"))}")
      #expect(answer.status == 201)
      #expect(answer.json[object: "profile"]["is_anonymous"] == true)
      let guest = try TestServer.Session(answer)
      let other = try await test.signInAnonymously()
      #expect(guest.account != other.account)
      let me = try await test.client.get("/v1/me", token: guest.access)
      #expect(me.json["id"] == guest.account)
      #expect(me.json["is_anonymous"] == true)
      #expect(me.json["email"] as String? == nil)
      #expect(try await test.refresh(guest.refresh, key: .fresh).status == 200)
      #expect(test.metrics.guests == 2)
    }
  }

  @Test func `costs as much work as a sign-in`() async throws {
    try await TestServer.run { test in
      _ = try await test.signInAnonymously()
      #expect(test.metrics.passwordHashes == 1)
    }
  }

  @Test func `becomes a full account with the same id and a new session`() async throws {
    try await TestServer.run { test in
      let guest = try await test.signInAnonymously()
      let answer = try await test.client.post(
        "/v1/upgrade", token: guest.access, json: TestServer.signUpBody("Ada@example.org"))
      #expect(answer.status == 200)
      #expect(answer.json[object: "profile"]["is_anonymous"] == false)
      #expect(answer.json[object: "profile"]["name"] == "Ada")
      let full = try TestServer.Session(answer)
      #expect(full.account == guest.account)
      #expect(full.id != guest.id)
      // The guest's session goes on until the full account's is used.
      #expect(try await test.client.get("/v1/me", token: guest.access).json["is_anonymous"] == false)
      #expect(try await test.client.get("/v1/me", token: full.access).json["email"] == "Ada@example.org")
      let refused = try await test.client.get("/v1/me", token: guest.access)
      #expect(refused.json["reason"] == "replaced")
      #expect(try await test.refresh(guest.refresh, key: .fresh).json["reason"] == "replaced")
      #expect(try await test.signIn().account == guest.account)
      #expect(
        try await test.events().prefix(4) == [
          "session-established", "credential-change", "session-established", "session-revoked replaced",
        ])
    }
  }

  @Test func `stays unchanged if the address is taken or the write fails`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let guest = try await test.signInAnonymously()
      let taken = try await test.client.post(
        "/v1/upgrade", token: guest.access, json: TestServer.signUpBody("ADA@example.org"))
      #expect(taken.status == 409)
      #expect(taken.code == "email_taken")
      test.store.fail(.writes)
      let down = try await test.client.post(
        "/v1/upgrade", token: guest.access, json: TestServer.signUpBody("eve@example.org"))
      #expect(down.status == 503)
      test.store.fail(.none)
      #expect(try await test.client.get("/v1/me", token: guest.access).json["is_anonymous"] == true)
      #expect(try await test.refresh(guest.refresh, key: .fresh).status == 200)
      let weak = try await test.client.post(
        "/v1/upgrade", token: guest.access, json: TestServer.signUpBody("eve@example.org", password: "short"))
      #expect(weak.code == "weak_password")
    }
  }

  @Test func `is upgraded once, even concurrently`() async throws {
    try await TestServer.run { test in
      let guest = try await test.signInAnonymously()
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<8 {
          group.addTask {
            try await test.client.post(
              "/v1/upgrade", token: guest.access, json: TestServer.signUpBody("a\(number)@example.org")
            ).status
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses.count { $0 == 200 } == 1)
      #expect(Set(statuses).isSubset(of: [200, 401, 409, 503]))
      // The guest's, and one of the full account, which is not used yet.
      #expect(try await test.store.sessions(of: AccountID(guest.account)).count == 2)
    }
  }

  @Test func `is required for an upgrade`() async throws {
    try await TestServer.run { test in
      let full = try await test.signUp()
      let answer = try await test.client.post(
        "/v1/upgrade", token: full.access, json: TestServer.signUpBody("new@example.org"))
      #expect(answer.status == 409)
      #expect(answer.code == "not_anonymous")
      #expect(try await test.client.get("/v1/me", token: full.access).json["email"] == "ada@example.org")
    }
  }

  @Test func `is not accepted if sign-up is closed`() async throws {
    try await TestServer.run({ $0.signUp = .closed }) { test in
      let answer = try await test.client.post("/v1/sign-in/anonymous", json: "{\(TestServer.deviceBody("phone"))}")
      #expect(answer.status == 403)
      #expect(answer.code == "sign_up_closed")
    }
  }
}
#endif
