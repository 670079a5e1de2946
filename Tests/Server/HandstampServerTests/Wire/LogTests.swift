#if Programs
import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The log` {
  @Test func `holds no token, no password, no address and no body`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp("secret.person@example.org", device: "phone")
      let laptop = try await test.signIn("secret.person@example.org", device: "laptop")
      var secrets = [
        session.access, session.refresh, session.handle, laptop.refresh, TestServer.password, "secret.person", "hst1.",
        "hsr1.",
        "eyJ",
      ]
      let key = RotationKey.fresh
      secrets.append(key.wireText.withExposed { $0 })
      let answer = try await test.refresh(session.refresh, key: key)
      secrets.append(try #require(answer.json["refresh_token"]))
      _ = try await test.refresh(session.refresh, key: .fresh)
      _ = try await test.client.post(
        "/v1/sign-in", json: TestServer.signInBody("secret.person@example.org", password: "guess-it"))
      _ = try await test.client.post("/v1/sign-in", json: #"{"email":"secret.person@example.org","x":1}"#)
      _ = try await test.client.post("/oauth/revoke", form: "token=\(laptop.handle)")
      test.store.fail(.all)
      _ = try await test.refresh(laptop.refresh, key: .fresh)
      _ = try await test.client.get("/v1/me", token: laptop.access)
      test.store.fail(.none)
      let log = test.logs.text
      #expect(!"\(test.server) \(test.keys)".contains("PRIVATE"))
      #expect(log.contains("Signed in"))
      #expect(log.contains("Refresh token used twice; session ended"))
      #expect(log.contains("Store unavailable"))
      for (number, secret) in (secrets + ["guess-it"]).enumerated() {
        #expect(!log.contains(secret), "secret \(number)")
      }
    }
  }
}
#endif
