#if Programs
import HandstampCore
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A revocation` {
  @Test func `by handle ends the session at once`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      #expect(try await test.client.post("/oauth/revoke", form: "token=\(session.handle)").status == 200)
      #expect(try await test.client.get("/v1/me", token: session.access).json["reason"] == "signed_out")
      #expect(try await test.refresh(session.refresh, key: .fresh).json["reason"] == "signed_out")
    }
  }

  @Test func `by any genuine token of the session works, even an old one`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      var token = session.refresh
      for _ in 0..<3 { token = try #require(try await test.refresh(token, key: .fresh).json["refresh_token"]) }
      let form = "token=\(session.refresh)&token_type_hint=refresh_token"
      #expect(try await test.client.post("/oauth/revoke", form: form).status == 200)
      #expect(try await test.client.get("/v1/me", token: session.access).status == 401)
      #expect(try await test.refresh(token, key: .fresh).status == 400)
    }
  }

  @Test func `is all that a handle can do`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      #expect(try await test.refresh(session.handle, key: .fresh).json["error"] == "invalid_grant")
      #expect(try await test.client.get("/v1/me", token: session.handle).status == 401)
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
    }
  }

  @Test func `of an unknown value is answered the same, and changes nothing`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let known = try await test.signUp("eve@example.org")
      let done = try await test.client.post("/oauth/revoke", form: "token=\(known.handle)")
      for token in ["garbage", session.handle.dropLast() + "!", "hsr1.k1.AAAA", known.handle] {
        let answer = try await test.client.post("/oauth/revoke", form: "token=\(token)")
        #expect(answer.status == 200)
        #expect(answer.body == done.body)
      }
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      #expect(try await test.client.post("/oauth/revoke", form: "").status == 400)
      #expect(try await test.client.post("/oauth/revoke", form: "token=a&token=b").status == 400)
    }
  }

  @Test func `that names a missing key is to be retried later`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let foreign = session.handle.replacing("hsr1.k1.", with: "hsr1.k9.")
      #expect(try await test.client.post("/oauth/revoke", form: "token=\(foreign)").status == 503)
    }
  }
}
#endif
