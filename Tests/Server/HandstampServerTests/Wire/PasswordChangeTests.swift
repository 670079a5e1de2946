#if Programs
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

extension TestServer {
  func changePassword(
    _ token: String, from old: String = password, to new: String, endingOthers: Bool
  ) async throws -> WireClient.Answer {
    try await client.post(
      "/v1/password", token: token, json: #"{"current":"\#(old)","new":"\#(new)","end_others":\#(endingOthers)}"#)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Changing the password` {
  @Test(arguments: [true, false])
  func `keeps the requesting session, and ends the others on request`(_ endingOthers: Bool) async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      let answer = try await test.changePassword(phone.access, to: "another password", endingOthers: endingOthers)
      #expect(answer.status == 204)
      #expect(try await test.client.get("/v1/me", token: phone.access).status == 200)
      let other = try await test.client.get("/v1/me", token: laptop.access)
      #expect(other.status == (endingOthers ? 401 : 200))
      if endingOthers { #expect(other.json["reason"] == "revoked") }
      #expect(try await test.events().suffix(1) == [endingOthers ? "session-revoked revoked" : "credential-change"])
      let old = TestServer.signInBody("ada@example.org")
      #expect(try await test.client.post("/v1/sign-in", json: old).status == 401)
      let new = TestServer.signInBody("ada@example.org", password: "another password")
      #expect(try await test.client.post("/v1/sign-in", json: new).status == 200)
    }
  }

  @Test func `requires the current one, and costs at most one hash without it`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let guest = try await test.signInAnonymously()
      // A guest has no password, so there is nothing to guess and nothing to hash.
      for (token, cost) in [(session.access, 1), (guest.access, 0)] {
        let hashes = test.metrics.passwordHashes
        let wrong = try await test.changePassword(
          token, from: "not this one", to: "another password", endingOthers: true)
        #expect(wrong.status == 403)
        #expect(wrong.isProblem)
        #expect(wrong.code == "wrong_credentials")
        #expect(test.metrics.passwordHashes == hashes + cost)
        #expect(try await test.client.get("/v1/me", token: token).status == 200)
      }
      let weak = try await test.changePassword(session.access, to: "short", endingOthers: true)
      #expect(weak.code == "weak_password")
      #expect(try await test.client.post("/v1/password", json: "{}").status == 401)
      #expect(try await test.client.post("/v1/password", token: session.access, json: "{}").status == 400)
      _ = try await test.signIn()
    }
  }

  @Test func `changes nothing if it cannot be written`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      test.store.fail(.writes)
      #expect(
        try await test.changePassword(phone.access, to: "another password", endingOthers: true).status == 503)
      test.store.fail(.none)
      #expect(try await test.client.get("/v1/me", token: laptop.access).status == 200)
      _ = try await test.signIn(device: "tablet")
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Deleting an account` {
  private func delete(_ test: TestServer, _ token: String, _ body: String?) async throws -> WireClient.Answer {
    try await test.client.send(
      "DELETE", "/v1/me", token: token, headers: body == nil ? [:] : ["Content-Type": "application/json"],
      body: body.map { Array($0.utf8) })
  }

  @Test func `ends every session at once and frees the address`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      let stream = try await WireStream(test.client, token: laptop.access)
      _ = try await stream.next()
      #expect(try await delete(test, phone.access, #"{"password":"\#(TestServer.password)"}"#).status == 204)
      #expect(try await stream.next()?.name == "account-purged")
      for session in [phone, laptop] {
        let refused = try await test.client.get("/v1/me", token: session.access)
        #expect(refused.status == 401)
        #expect(refused.json["reason"] == "account_closed")
        #expect(try await test.refresh(session.refresh, key: .fresh).json["reason"] == "account_closed")
      }
      let record = try await test.store.account(AccountID(phone.account))
      #expect(record?.email == nil)
      #expect(record?.username == "")
      #expect(record?.passwordHash == nil)
      let body = TestServer.signInBody("ada@example.org")
      #expect(try await test.client.post("/v1/sign-in", json: body).status == 401)
      let again = try await test.signUp()
      #expect(again.account != phone.account)
    }
  }

  @Test func `requires the password of an account that has one`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      for body in [nil, "{}", #"{"password":"not this one"}"#] as [String?] {
        let answer = try await delete(test, session.access, body)
        #expect(answer.status == 403)
        #expect(answer.code == "wrong_credentials")
      }
      #expect(test.metrics.passwordHashes == 4)
      #expect(try await delete(test, session.access, #"{"password":null}"#).code == "invalid_request")
      #expect(try await delete(test, session.access, #"{"pasword":"x"}"#).code == "wrong_credentials")
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
    }
  }

  @Test func `requires no password from a guest`() async throws {
    try await TestServer.run { test in
      let guest = try await test.signInAnonymously()
      test.store.fail(.writes)
      #expect(try await delete(test, guest.access, nil).status == 503)
      test.store.fail(.none)
      #expect(try await delete(test, guest.access, nil).status == 204)
      #expect(try await test.client.get("/v1/me", token: guest.access).json["reason"] == "account_closed")
      #expect(test.metrics.accountsDeleted == 1)
    }
  }
}
#endif
