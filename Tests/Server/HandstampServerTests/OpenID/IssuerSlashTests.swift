#if Programs
import HandstampCore
import HandstampJOSE
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

/// RFC 3986 section 6.2.3: both spellings are one URL. Clients compare bytes.
@Suite(.timeLimit(.minutes(10))) struct `An issuer that is published with a slash` {
  private static let published = "https://id.example.org/"

  @Test func `has it wherever clients compare it, and its addresses have it once`() async throws {
    let key = JWSPrivateKey.es256()
    let site = try ConfiguredClient(
      id: "site", secretHash: ConfiguredClient.hash(of: Secret(TestServer.secret)),
      redirectURIs: ["https://site.example.org/cb"], scopes: ["openid", "profile"], introspects: true)
    let keyed = try ConfiguredClient(id: "keyed", flows: [.credentials], jwks: key.jwks)
    try await TestServer.run {
      $0.hasIssuerSlash = true
      $0.clients = [site, keyed]
    } body: { test in
      _ = try await test.signUp()
      for path in ["openid-configuration", "oauth-authorization-server"] {
        let metadata = try await test.client.get("/.well-known/" + path).json
        #expect(metadata["issuer"] == Self.published)
        #expect(metadata["token_endpoint"] == "https://id.example.org/oauth/token")
        #expect(metadata["jwks_uri"] == "https://id.example.org/.well-known/jwks.json")
      }
      let resource = try await test.client.get("/.well-known/oauth-protected-resource").json
      #expect(resource["resource"] == Self.published)
      #expect(resource["authorization_servers"] == [Self.published])

      let app = OAuthApp.site
      let browser = Browser(test.client.base)
      let page = try await browser.signIn(at: app.page())
      let back = try await browser.press("allow", on: page, at: app.page())
      #expect(back.fields["iss"] == Self.published)
      let tokens = try await app.redeem(
        try #require(back.fields["code"]), at: test, headers: TestServer.basic("site", TestServer.secret))
      #expect(tokens.claims("id_token")["iss"] == Self.published)
      let access = tokens.claims("access_token")
      #expect(access["iss"] == Self.published && access["aud"] == Self.published)
      let token: String = try #require(tokens.json["access_token"])
      #expect(try await test.client.get("/v1/me", token: token).status == 200)
      #expect(try await test.introspect(token, as: "site").json["iss"] == Self.published)
      let logout = try test.server.responses.idTokens.logout(
        of: SessionID("s"), AccountID("a"), for: site, id: "j", at: test.server.clock.read())
      #expect(CompactJWS(Array(logout.utf8))?.issuer == Self.published)
    }
  }

  @Test(arguments: [
    ("https://id.example.org/", 200), ("https://id.example.org/oauth/token", 200), ("https://id.example.org", 401),
  ])
  func `is the audience of assertions, byte for byte`(audience: String, status: Int) async throws {
    let key = JWSPrivateKey.es256()
    let keyed = try ConfiguredClient(id: "keyed", flows: [.credentials], jwks: key.jwks)
    try await TestServer.run {
      $0.hasIssuerSlash = true
      $0.clients = [keyed]
    } body: { test in
      let assertion = SignedAssertion(of: "keyed", by: key, at: test.clock.now)
      let answer = try await test.oauth(
        "/oauth/token",
        [
          ("grant_type", "client_credentials"), ("client_assertion_type", ClientAssertion.type),
          ("client_assertion", assertion.text(["aud": "\"\(audience)\""])),
        ])
      #expect(answer.status == status)
    }
  }

  @Test func `has none if it has a path`() {
    var configuration = ServerConfiguration(issuer: "https://id.example.org/auth")
    configuration.hasIssuerSlash = true
    #expect(configuration.issuerIdentifier == "https://id.example.org/auth")
  }
}
#endif
