#if Programs
import Dispatch
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Signing up and in` {
  @Test func `returns tokens, a handle and a profile, none of them cacheable`() async throws {
    try await TestServer.run { test in
      let up = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("Ada@Example.org"))
      #expect(up.status == 201)
      let again = try await test.client.post("/v1/sign-in", json: TestServer.signInBody("ada@example.ORG"))
      #expect(again.status == 200)
      for answer in [up, again] {
        #expect(answer.headers["cache-control"] == "no-store")
        #expect(answer.headers["content-type"] == "application/json")
        #expect(answer.json["token_type"] == "Bearer")
        #expect(answer.json["expires_in"] == 600)
        #expect(answer.json[object: "profile"]["name"] == "Ada")
        #expect(answer.json[object: "profile"]["is_anonymous"] == false)
      }
      let session = try TestServer.Session(again)
      #expect(session.refresh.hasPrefix("hst1."))
      #expect(session.account == (try TestServer.Session(up)).account)
      let me = try await test.client.get("/v1/me", token: session.access)
      #expect(me.status == 200)
      #expect(me.json["id"] == session.account)
      #expect(me.json["email"] == "Ada@Example.org")
      #expect(me.headers["cache-control"] == "no-store")
    }
  }

  @Test func `costs exactly one hash in every case`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      var hashes = test.metrics.passwordHashes
      #expect(hashes == 1)
      for (body, status) in [
        (TestServer.signInBody("ada@example.org"), 200),
        (TestServer.signInBody("ada@example.org", password: "wrong"), 401),
        (TestServer.signInBody("ada@example.org", password: ""), 401),
        (TestServer.signInBody("nobody@example.org"), 401),
      ] {
        #expect(try await test.client.post("/v1/sign-in", json: body).status == status)
        hashes += 1
        #expect(test.metrics.passwordHashes == hashes)
      }
      let taken = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("ADA@example.org"))
      #expect(taken.status == 409)
      #expect(taken.code == "email_taken")
      #expect(test.metrics.passwordHashes == hashes + 1)
    }
  }

  @Test func `answers alike for a wrong password and an unknown address`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let wrong = try await test.client.post(
        "/v1/sign-in", json: TestServer.signInBody("ada@example.org", password: "not this one"))
      let unknown = try await test.client.post(
        "/v1/sign-in", json: TestServer.signInBody("eve@example.org", password: "not this one"))
      #expect(wrong.isProblem)
      #expect(wrong.code == "wrong_credentials")
      #expect(wrong.body == unknown.body)
      #expect(wrong.sameHeaders == unknown.sameHeaders)
      #expect(wrong.headers["www-authenticate"] == "Bearer")
      #expect(test.metrics.refusedSignIns == 2)
    }
  }

  @Test(arguments: [
    (String(repeating: "é", count: 7), 400), (String(repeating: "é", count: 8), 201),
    (String(repeating: "x", count: 1024), 201), (String(repeating: "x", count: 1025), 400), ("        ", 201),
  ])
  func `checks only a password's length`(_ password: String, _ status: Int) async throws {
    try await TestServer.run { test in
      let body = TestServer.signUpBody("a@b", password: password)
      let answer = try await test.client.post("/v1/sign-up", json: body)
      #expect(answer.status == status)
      if status == 400 {
        #expect(answer.code == "weak_password")
      } else {
        let back = TestServer.signInBody("a@b", password: password)
        #expect(try await test.client.post("/v1/sign-in", json: back).status == 200)
        let cut = TestServer.signInBody("a@b", password: String(password.dropLast()))
        #expect(try await test.client.post("/v1/sign-in", json: cut).status == 401)
      }
    }
  }

  @Test func `from the same device again replaces its previous session with its first use`() async throws {
    try await TestServer.run { test in
      let first = try await test.signUp(device: "phone")
      #expect(try await test.client.get("/v1/me", token: first.access).status == 200)
      let second = try await test.signIn(device: "phone")
      #expect(try await test.client.get("/v1/me", token: first.access).status == 200)
      #expect(try await test.client.post("/v1/session/confirm", token: second.access, json: "{}").status == 204)
      #expect(try await test.client.post("/v1/session/confirm", token: second.access, json: "{}").status == 204)
      let refused = try await test.client.get("/v1/me", token: first.access)
      #expect(refused.status == 401)
      #expect(refused.json["reason"] == "replaced")
      let sessions = try await test.client.get("/v1/sessions", token: second.access).json[list: "sessions"]
      #expect(sessions.count == 1)
    }
  }

  @Test func `is rejected for a while when there are too many requests`() async throws {
    try await TestServer.run({
      $0.passwords.threads = 1
      $0.passwords.queue = 2
    }) { test in
      // The only thread hashes nothing until the queue was full.
      let (begins, pool) = (DispatchSemaphore(value: 0), test.server.lasting.passwords)
      let held = Task { try await pool.perform { begins.wait() } }
      #expect(await eventually { pool.isBusy })
      let answers = try await withThrowingTaskGroup(of: WireClient.Answer.self) { group in
        defer { begins.signal() }
        for number in 0..<24 {
          group.addTask {
            try await test.client.post("/v1/sign-in", json: TestServer.signInBody("a\(number)@example.org"))
          }
        }
        var answers: [WireClient.Answer] = []
        for try await answer in group {
          if answers.isEmpty { begins.signal() }
          answers.append(answer)
        }
        return answers
      }
      try await held.value
      let byStatus = Dictionary(grouping: answers, by: \.status)
      #expect(byStatus.keys.sorted() == [401, 503])
      #expect(test.metrics.passwordHashes - 1 == byStatus[401]?.count)
      for busy in byStatus[503] ?? [] {
        #expect(busy.isProblem)
        #expect(busy.code == "busy")
        #expect(busy.headers["retry-after"] == "1")
      }
    }
  }

  @Test func `is answered 503, not refused, while the store is down`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      test.store.fail(.writes)
      let write = try await test.client.post("/v1/sign-in", json: TestServer.signInBody("ada@example.org"))
      test.store.fail(.all)
      let read = try await test.client.post("/v1/sign-in", json: TestServer.signInBody("ada@example.org"))
      let me = try await test.client.get("/v1/me", token: session.access)
      for answer in [write, read, me] {
        #expect(answer.status == 503)
        #expect(answer.isProblem)
        #expect(answer.headers["retry-after"] == "1")
        #expect(!answer.text.contains("fire"))
      }
      #expect(try await test.client.get("/ready").status == 503)
      test.store.fail(.none)
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      #expect(try await test.client.get("/health").json["status"] == "ok")
    }
  }

  @Test func `can be closed to new accounts`() async throws {
    try await TestServer.run({ $0.signUp = .closed }) { test in
      let answer = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("a@b"))
      #expect(answer.status == 403)
      #expect(answer.code == "sign_up_closed")
    }
  }
}
#endif
