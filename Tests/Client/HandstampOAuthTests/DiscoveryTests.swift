import Foundation
import HandstampCore
import Testing

@testable import HandstampOAuth

@Suite(.timeLimit(.minutes(10))) struct `Discovery` {
  @Test func `uses the locations of RFC 8414 and OpenID Connect`() {
    #expect(
      Address.metadata(of: "https://id.example.org/tenant/1") == [
        "https://id.example.org/.well-known/oauth-authorization-server/tenant/1",
        "https://id.example.org/tenant/1/.well-known/openid-configuration",
        "https://id.example.org/.well-known/openid-configuration/tenant/1",
        "https://id.example.org/tenant/1/.well-known/oauth-authorization-server",
      ])
    #expect(
      Address.metadata(of: "http://127.0.0.1:8080/").first
        == "http://127.0.0.1:8080/.well-known/oauth-authorization-server")
  }

  @Test(arguments: [
    "http://id.example.org", "ftp://id.example.org", "id.example.org", "", "https://", "https://me@id.example.org",
    "https://id.example.org/?a=b", "http://127.0.0.1.example.org",
  ])
  func `rejects issuers that a secret may not be sent to`(_ issuer: String) async {
    #expect(Address.metadata(of: issuer).isEmpty)
    let backend = OAuthBackend(OAuthClient(issuer: issuer, id: "app"), transport: StubServer())
    await #expect(throws: SessionError.invalidResponse("the issuer is not an https URL")) {
      _ = try await backend.metadata()
    }
  }

  @Test func `falls back to OpenID Connect's document, and asks once`() async throws {
    let server = StubServer()
    server.on("/t/.well-known/openid-configuration", json: StubServer.metadata(issuer: "https://id.example.org/t"))
    let backend = OAuthBackend(OAuthClient(issuer: "https://id.example.org/t", id: "app"), transport: server)
    for _ in 0..<3 {
      #expect(try await backend.metadata().tokenEndpoint == "https://id.example.org/token")
    }
    #expect(server.requests(to: "/t/.well-known/openid-configuration").count == 1)
  }

  @Test(arguments: [
    (
      StubServer.metadata(issuer: "https://evil.example.org"),
      "the metadata belongs to another issuer, https://evil.example.org"
    ),
    (
      StubServer.metadata(issuer: "https://id.example.org//"),
      "the metadata belongs to another issuer, https://id.example.org//"
    ),
    (#"{"issuer":"a\u001b[2J"}"#, "the metadata belongs to another issuer;"),
    (#"{"issuer":"https://id.example.org"}"#, "the metadata has no token_endpoint"),
    (
      #"{"issuer":"https://id.example.org","token_endpoint":"http://id.example.org/token"}"#,
      "the token_endpoint is not an https URL"
    ),
    (
      StubServer.metadata(more: #","code_challenge_methods_supported":["plain"]"#),
      "the server does not support PKCE with S256"
    ),
    ("<html>", "not a metadata document"), ("{}", "the metadata has no issuer"),
  ])
  func `refuses a document that redirects tokens, and reports every response`(
    _ document: String, _ words: String
  ) async {
    let backend = OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "app"), transport: StubServer(metadata: document))
    do throws(SessionError) {
      _ = try await backend.metadata()
      Issue.record("it was accepted")
    } catch {
      guard case .invalidResponse(let text) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(text.contains("/.well-known/oauth-authorization-server: \(words)"), "\(text)")
      #expect(text.hasSuffix("; /.well-known/openid-configuration answers 404"), "\(text)")
    }
  }

  /// FastMCP and the SDK of the Model Context Protocol for Python hand over issuers with a slash.
  @Test(arguments: [
    ("https://id.example.org/", "https://id.example.org"), ("https://id.example.org", "https://id.example.org/"),
  ])
  func `takes the server's spelling of an issuer with an empty path`(handed: String, published: String) async throws {
    let server = StubServer(metadata: StubServer.metadata(issuer: published))
    let backend = OAuthBackend(OAuthClient(issuer: handed, id: "app", scopes: ["openid"]), transport: server)
    #expect(try await backend.metadata().issuer == published)
    for (spelling, isIts) in [(published, true), (handed, false)] {
      let claims = #"{"iss":"\#(spelling)","sub":"7","aud":"app","exp":2000000000,"nonce":"NONCE"}"#
      let grant = try? await signIn(backend, server, claims: claims, from: published)
      #expect((grant?.issuer == published) == isIts, "the iss of an ID token, \(spelling)")
      let other = try? await signIn(backend, server, claims: nil, from: spelling)
      #expect((other != nil) == isIts, "the iss of an authorization response, \(spelling)")
    }
  }

  /// - Parameter claims: of the ID token; `NONCE` stands for the nonce of the sign-in. `nil` for none.
  private func signIn(
    _ backend: OAuthBackend, _ server: StubServer, claims: String?, from issuer: String
  ) async throws(SessionError) -> TokenResponse {
    let person = Person { page throws(RedirectError) in
      let token = claims.map { StubServer.unsigned($0.replacing("NONCE", with: page["nonce"] ?? "")) }
      let more = token.map { #","id_token":"\#($0)""# } ?? ""
      server.on("/token", json: "\(StubServer.tokens.dropLast())\(more)}")
      return try Person.agreeing(more: "&iss=\(issuer)").answer(page)
    }
    return try await backend.signIn(through: person, redirectURI: "org.example.app:/back")
  }

  /// A site with one page for every path, a proxy's JSON, another tenant's document, a page of 2 MB.
  @Test(arguments: [
    "<!doctype html><title>Our app</title>", "{}", #"{"error":"not found"}"#, "",
    StubServer.metadata(issuer: "https://id.example.org/other"), String(repeating: " ", count: 2 << 20),
  ])
  func `continues after a 200 that is not this issuer's metadata`(_ page: String) async throws {
    let server = StubServer(metadata: "")
    server.on("/.well-known/oauth-authorization-server") { request, _ in
      TransportResponse(status: 200, headers: [], body: Array(page.utf8))
    }
    server.on("/.well-known/openid-configuration", json: StubServer.metadata())
    let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
    #expect(try await backend.metadata().tokenEndpoint == "https://id.example.org/token")
  }

  @Test(arguments: [
    "/.well-known/openid-configuration/t", "/t/.well-known/oauth-authorization-server",
  ])
  func `finds a document at the less common location`(_ place: String) async throws {
    let server = StubServer()
    server.on(place, json: StubServer.metadata(issuer: "https://id.example.org/t"))
    let backend = OAuthBackend(OAuthClient(issuer: "https://id.example.org/t", id: "app"), transport: server)
    #expect(try await backend.metadata().tokenEndpoint == "https://id.example.org/token")
  }

  @Test func `distinguishes an unreachable server from one without metadata`() async {
    let away = StubServer(metadata: "")
    let none = OAuthBackend(OAuthClient(issuer: "https://id.example.org/x", id: "app"), transport: away)
    await #expect(
      throws: SessionError.unsupported(
        "OAuth metadata: /.well-known/oauth-authorization-server/x answers 404; "
          + "/x/.well-known/openid-configuration answers 404; /.well-known/openid-configuration/x answers 404; "
          + "/x/.well-known/oauth-authorization-server answers 404")
    ) { _ = try await none.metadata() }
    for place in ["/y/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/y"] {
      let server = StubServer(metadata: "")
      server.on(place, status: 503, headers: [HeaderField("Retry-After", "7")], json: "")
      let later = OAuthBackend(OAuthClient(issuer: "https://id.example.org/y", id: "app"), transport: server)
      await #expect(throws: SessionError.requestFailed(.server(.init(status: 503)), retryAfter: .seconds(7))) {
        _ = try await later.metadata()
      }
    }
  }
}
