#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `An app with an ID token of a provider` {
  private static let nonce = "a nonce of the app, long enough"

  /// The ID token that the provider issues to the app of ``ProviderPair/run(mailer:_:_:body:)``.
  private func token(_ email: String, _ pair: ProviderPair, nonce: String = nonce) async throws -> String {
    let app = OAuthApp(
      id: "phone", redirect: "org.example.phone:/back", scope: "openid email profile", more: [("nonce", nonce)])
    let browser = Browser(pair.provider.client.base)
    _ = try await browser.signIn(at: app.page(), as: email)
    let answer = try await app.redeem(try await app.code(browser), at: pair.provider)
    return try #require(answer.json["id_token"])
  }

  private func run(
    _ change: (inout UpstreamProvider) -> Void = { _ in }, _ configure: (inout ServerConfiguration) -> Void = { _ in },
    body: (ProviderPair) async throws -> Void
  ) async throws {
    try await ProviderPair.run(
      {
        $0.nativeClientIDs = ["phone"]
        change(&$0)
      }, configure, body: body)
  }

  private func signIn(
    _ token: String, _ pair: ProviderPair, nonce: String = nonce, at provider: String = "office",
    device: String = "phone"
  ) async throws -> WireClient.Answer {
    try await pair.test.client.post(
      "/v1/sign-in/provider",
      json: #"""
        {"provider":"\#(provider)","id_token":"\#(token)","nonce":"\#(nonce)",
        "device":{"id":"d-\#(device)","name":"\#(device)","platform":"iOS"}}
        """#)
  }

  @Test func `signs in with it once, to the account that the pages know`() async throws {
    try await run { pair in
      _ = try await pair.person("ada@example.org")
      let browser = pair.browser
      _ = try await pair.signIn("ada@example.org", browser)
      let text = try await token("ada@example.org", pair)
      let answer = try await signIn(text, pair)
      #expect(answer.status == 200)
      let account = try await pair.account(of: browser)
      #expect(try AccountID(TestServer.Session(answer).account) == account)
      let again = try await signIn(text, pair, device: "other")
      #expect(again.status == 403 && again.code == "id_token_invalid")
      let wrong = try await signIn(text, pair, nonce: "another nonce, long enough")
      #expect(wrong.status == 403 && wrong.code == "id_token_invalid")
      #expect(try await signIn(text, pair, at: "nope").code == "not_offered")
    }
  }

  @Test func `is under the rules of the pages`() async throws {
    try await run { pair in
      _ = try await pair.member("ada@example.org")
      _ = try await pair.person("ada@example.org")
      let answer = try await signIn(try await token("ada@example.org", pair), pair)
      #expect(answer.status == 409 && answer.code == "identity_not_linked")
    }
    try await run({ $0.signUp = .invited }) { pair in
      _ = try await pair.person("ada@example.org")
      let answer = try await signIn(try await token("ada@example.org", pair), pair)
      #expect(answer.status == 403 && answer.code == "sign_up_closed")
      #expect(try await pair.registry.accounts(limit: 9).isEmpty)
    }
  }

  @Test func `proves to be the owner with another one`() async throws {
    try await run { pair in
      _ = try await pair.person("ada@example.org")
      _ = try await pair.person("eve@example.org")
      let session = try TestServer.Session(try await signIn(try await token("ada@example.org", pair), pair))
      func prove(_ email: String, _ nonce: String) async throws -> WireClient.Answer {
        let text = try await token(email, pair, nonce: nonce)
        return try await pair.test.client.post(
          "/v1/reauthenticate", token: session.access,
          json: #"{"provider":"office","id_token":"\#(text)","nonce":"\#(nonce)"}"#)
      }
      let other = try await prove("eve@example.org", "the first nonce of this test")
      #expect(other.status == 403 && other.code == "id_token_invalid")
      #expect(try await prove("ada@example.org", "the second nonce of this test").status == 200)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The configuration of providers` {
  private static let good = UpstreamProvider(
    id: "office", name: "Work", issuer: ProviderPair.issuer, clientID: "forum", clientSecret: Secret("secret"))

  private static func with(_ change: (inout UpstreamProvider) -> Void) -> [UpstreamProvider] {
    var provider = good
    change(&provider)
    return [provider]
  }

  static let bad: [[UpstreamProvider]] = [
    [good, good], with { $0.id = "Work" }, with { $0.id = "" }, with { $0.name = "" },
    with { $0.issuer = "http://provider.example" }, with { $0.issuer = "provider" }, with { $0.clientID = "" },
    with { $0.scopes = ["email"] }, with { $0.signUp = .domains([]) }, with { $0.signUp = .domains(["@"]) },
    with {
      $0.userInfo = UserInfoMapping()
      $0.userInfo?.userInfoEndpoint = "http://provider.example/me"
    },
    with { ($0.issuer, $0.trustsEmail) = ("https://login.microsoftonline.com/common/v2.0", true) },
    with { ($0.issuer, $0.trustsEmail) = ("https://login.microsoftonline.us/Organizations/v2.0", true) },
    with { $0.logo = PageSettings.Image(bytes: Array(repeating: 0, count: 300_000), type: "image/png") },
  ]

  @Test(arguments: bad.indices)
  func `is refused if people could not sign in, or others could read it`(_ index: Int) async throws {
    let error = await #expect(throws: ServerConfigurationError.self) {
      try await TestServer.run(transport: PatientTransport(), { $0.providers = Self.bad[index] }) { _ in }
    }
    guard case .provider(let words)? = error else {
      Issue.record("\(index): \(error as Any)")
      return
    }
    #expect(!words.contains("secret"))
  }

  @Test func `may trust the addresses of one tenant at Microsoft, and let those of all sign in`() {
    let tenant = "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0"
    for (issuer, trusts) in [(tenant, true), ("https://login.microsoftonline.com/common/v2.0", false)] {
      #expect(Self.with { ($0.issuer, $0.trustsEmail) = (issuer, trusts) }.first?.defect == nil, "\(issuer)")
    }
  }

  @Test func `needs a transport, and may be on this machine without TLS`() async throws {
    await #expect(throws: ServerConfigurationError.self) {
      try await TestServer.run({ $0.providers = [Self.good] }) { _ in }
    }
    let local = Self.with { $0.issuer = "http://127.0.0.1:9" }
    try await TestServer.run(transport: PatientTransport(), { $0.providers = local }) { test async throws in
      #expect(try await Browser(test.client.base).get("/sign-in").text.contains("Continue with Work"))
    }
  }
}
#endif
