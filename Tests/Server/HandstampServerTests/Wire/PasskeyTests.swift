#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

extension TestServer {
  func addPasskey(_ id: String, to session: Session) async throws {
    guard let account = try await server.registry.account(AccountID(session.account)) else { return }
    try await addPasskey(id, to: account)
  }

  /// Adds a passkey whose signature was verified.
  func addPasskey(_ id: String, to account: AccountRecord) async throws {
    let (registry, now) = (server.registry, clock.now)
    let session = try #require(try await registry.sessions(of: account.id, now: now).first)
    let passkey = PasskeyRecord(
      id: id, account: account.id, publicKey: [1], signCount: 0, isBackupEligible: true, isBackedUp: true,
      transports: [], name: "Key", createdAt: now)
    let challenge = OneTimeTokenRecord(usedNonce: id, at: now, until: now.advanced(by: .seconds(600)))
    let isAdded = try await registry.addPasskey(passkey, to: account, in: session.id, challenge: challenge, now: now)
    #expect(isAdded)
  }
}

/// Signatures are verified in HandstampWebAuthnTests, and by other authenticators in `scripts/dev passkeys`.
@Suite(.timeLimit(.minutes(10))) struct `The passkeys of an account in an app` {
  private func ids(_ answer: WireClient.Answer) throws -> [String] {
    struct List: Decodable {
      struct Passkey: Decodable { var id: String }
      var passkeys: [Passkey]
    }
    return try JSONDecoder().decode(List.self, from: Data(answer.body)).passkeys.map(\.id)
  }

  /// Adds passkeys whose signatures were verified.
  private func add(_ ids: [String], to session: TestServer.Session, _ test: TestServer) async throws {
    for id in ids {
      try await test.addPasskey(id, to: session)
      // They are listed by age.
      test.clock.advance(by: .seconds(1))
    }
  }

  @Test func `are listed with what a password manager is told`() async throws {
    try await TestServer.run { test async throws in
      let phone = try await test.signUp()
      try await add(["one", "two"], to: phone, test)
      let answer = try await test.client.get("/v1/passkeys", token: phone.access)
      #expect(answer.status == 200 && answer.headers["cache-control"] == "no-store")
      #expect(try ids(answer) == ["one", "two"])
      #expect(answer.json["rp_id"] == "id.example.org" && answer.json["user_name"] == "ada@example.org")
      let options = try await test.client.post("/v1/passkeys/options", token: phone.access, json: "")
      #expect(options.status == 200)
      #expect(options.json[object: "user"]["id"] as String? == answer.json["user_handle"])
      #expect(options.json[object: "rp"]["id"] == "id.example.org")
      #expect(options.text.contains(#""excludeCredentials":[]"#), "these have no key that can be read")
      #expect(try await test.client.get("/v1/passkeys").status == 401)
    }
  }

  @Test func `are removed one by one, and what is left is the response`() async throws {
    try await TestServer.run { test async throws in
      let phone = try await test.signUp()
      try await add(["one", "two"], to: phone, test)
      let answer = try await test.client.send("DELETE", "/v1/passkeys/one", token: phone.access)
      #expect(try answer.status == 200 && ids(answer) == ["two"])
      let again = try await test.client.send("DELETE", "/v1/passkeys/one", token: phone.access)
      #expect(try again.status == 200 && ids(again) == ["two"], "the response may have been lost")
      let eve = try await test.signUp("eve@example.org", device: "hers")
      let theirs = try await test.client.send("DELETE", "/v1/passkeys/two", token: eve.access)
      #expect(try theirs.status == 200 && ids(theirs).isEmpty)
      #expect(try await test.server.registry.passkey("two") != nil)
    }
  }

  @Test func `are not removed if there is no other way in, such as a password or an identity`() async throws {
    try await TestServer.run { test async throws in
      let phone = try await test.signUp()
      try await add(["one"], to: phone, test)
      let registry = test.server.registry
      var account = try #require(try await registry.account(AccountID(phone.account)))
      account.passwordHash = nil
      account = try await registry.update(account)
      let refused = try await test.client.send("DELETE", "/v1/passkeys/one", token: phone.access)
      #expect(refused.status == 409 && refused.code == "passkey_last")
      let identity = ExternalIdentity(issuer: "https://id.example", subject: "ada")
      let link = LinkedIdentity(identity, of: account.id, at: account.createdAt)
      try await registry.store.write([.createItem(link.item)], events: [])
      #expect(try await test.client.send("DELETE", "/v1/passkeys/one", token: phone.access).status == 200)
    }
  }

  @Test func `take a recent proof, before the device is asked for one`() async throws {
    try await TestServer.run {
      $0.accessTokenLife = .seconds(86_400)
    } body: { test async throws in
      let phone = try await test.signUp()
      test.clock.advance(by: .seconds(15 * 60 + 1))
      let refused = try await test.client.post("/v1/passkeys/options", token: phone.access, json: "")
      #expect(refused.status == 403 && refused.code == "reauthentication_required")
      let answer = try await test.client.post(
        "/v1/reauthenticate", token: phone.access, json: #"{"password":"\#(TestServer.password)"}"#)
      let proof = try #require(answer.json["access_token"] as String?)
      #expect(try await test.client.post("/v1/passkeys/options", token: proof, json: "").status == 200)
      #expect(try await test.client.get("/v1/passkeys", token: phone.access).status == 200, "reading takes none")
    }
  }

  @Test func `are not made of garbage, nor for guests, nor at a server without passkeys`() async throws {
    try await TestServer.run { test async throws in
      let phone = try await test.signUp()
      for answer in ["{}", "[", #"{\"type\":\"public-key\"}"#] {
        let refused = try await test.client.post(
          "/v1/passkeys", token: phone.access, json: #"{"passkey":"\#(answer)"}"#)
        #expect(refused.status == 401 && refused.code == "passkey_refused", "\(answer)")
      }
      #expect(try await test.client.post("/v1/passkeys", token: phone.access, json: "{}").code == "invalid_request")
      let guest = try await test.client.post("/v1/sign-in/anonymous", json: "{\(TestServer.deviceBody("guest"))}")
      let token = try #require(guest.json["access_token"] as String?)
      #expect(try await test.client.post("/v1/passkeys/options", token: token, json: "").code == "not_offered")
    }
    try await TestServer.run {
      $0.passkeys = .none
    } body: { test async throws in
      let phone = try await test.signUp()
      for (method, path) in [("GET", "/v1/passkeys"), ("POST", "/v1/passkeys/options")] {
        #expect(try await test.client.send(method, path, token: phone.access).code == "not_offered")
      }
    }
  }

  @Test func `are offered at the address field of the page, and those that are left are on it for the script`()
    async throws
  {
    try await TestServer.run(mailer: Post()) { test async throws in
      let phone = try await test.signUp()
      try await add(["one"], to: phone, test)
      let browser = try await Browser.signedIn(test)
      let page = try await browser.get("/account/security")
      #expect(page.text.contains(#"data-domain="id.example.org""#) && page.text.contains(#"value="one""#))
      let options = try await browser.send(
        "POST", "/account/passkey/options", headers: ["X-CSRF-Token": page.csrf ?? ""])
      #expect(options.status == 200 && options.text.contains("challenge"))
      let stranger = Browser(test.client.base)
      let form = try await stranger.get("/sign-in")
      #expect(form.text.contains(#"autocomplete="username webauthn""#) && form.text.contains("data-offer"))
      #expect(!form.text.contains("data-unknown-passkey"))
    }
    try await TestServer.run(mailer: Post()) {
      $0.passkeys = .none
    } body: { test async throws in
      let form = try await Browser(test.client.base).get("/sign-in")
      #expect(form.text.contains(#"autocomplete="username""#) && !form.text.contains("data-offer"))
    }
  }
}
#endif
