import Foundation
import HandstampCore
import Testing

@testable import HandstampOAuth

/// RFC 7591.
@Suite(.timeLimit(.minutes(10))) struct `A client that registers itself` {
  private static let redirect = "http://127.0.0.1:49152/callback"

  private func backend(_ server: StubServer, scopes: [String] = []) -> OAuthBackend {
    OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "", scopes: scopes), transport: server)
  }

  private func server() -> StubServer {
    StubServer(metadata: StubServer.metadata(more: #","registration_endpoint":"https://id.example.org/register""#))
  }

  @Test func `asks to be a public one, with its redirect URI and scopes`() async throws {
    let server = server()
    server.on("/register", status: 201, json: #"{"client_id":"c1","scope":"openid read"}"#)
    let client = try await backend(server, scopes: ["openid", "read", "write"])
      .register(as: "Handstamp", redirectURI: Self.redirect)
    #expect(client.id == "c1" && client.secret == nil && client.scopes == ["openid", "read"])
    let request = try #require(server.requests(to: "/register").first)
    #expect(request.method == "POST" && request.headers.first(named: "Content-Type") == "application/json")
    #expect(request.headers.first(named: "Authorization") == nil)
    let sent = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
    #expect(sent["client_name"] as? String == "Handstamp" && sent["redirect_uris"] as? [String] == [Self.redirect])
    #expect(sent["token_endpoint_auth_method"] as? String == "none" && sent["response_types"] as? [String] == ["code"])
    #expect(
      sent["grant_types"] as? [String]
        == ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"])
    #expect(sent["scope"] as? String == "openid read write")
  }

  @Test(
    arguments: [
      (#""client_secret":"s","client_secret_expires_at":1900000000"#, true, nil, Int64(1_900_000_000)),
      (
        #""client_secret":"s","client_secret_expires_at":0,"token_endpoint_auth_method":"client_secret_post""#, true,
        .form, nil
      ),
      (#""client_secret":"s","token_endpoint_auth_method":"client_secret_basic""#, true, .header, nil),
      (
        #""client_secret":"s","client_secret_expires_at":1900000000,"token_endpoint_auth_method":"none""#, false, nil,
        nil
      ),
    ] as [(String, Bool, OAuthProvider.SecretPlace?, Int64?)])
  func `has a secret only if the server insists`(
    members: String, hasSecret: Bool, place: OAuthProvider.SecretPlace?, end: Int64?
  ) async throws {
    let server = server()
    server.on("/register", status: 201, json: #"{"client_id":"c1",\#(members)}"#)
    let client = try await backend(server).register(as: "Handstamp", redirectURI: Self.redirect)
    #expect((client.secret == Secret("s")) == hasSecret && client.secretPlace == place)
    #expect(client.secretExpiresAt == end.map { UnixTime(seconds: $0) })
  }

  @Test func `is told why it is not registered`() async {
    let none = backend(StubServer())
    await #expect(throws: SessionError.unsupported("registration of programs")) {
      _ = try await none.register(as: "Handstamp", redirectURI: Self.redirect)
    }
    for (status, body, error) in [
      (
        400, #"{"error":"invalid_redirect_uri","error_description":"no"}"#,
        .refused(code: "invalid_redirect_uri", detail: "no")
      ),
      (400, #"{"error":"invalid_client_metadata"}"#, .refused(code: "invalid_client_metadata", detail: nil)),
      (429, "", .requestFailed(.server(.init(status: 429)))),
      (201, #"{"client_id":""}"#, .invalidResponse("the response to the registration has no client_id")),
      (201, #"{"client_id":"a\u001bb"}"#, .invalidResponse("the response to the registration has no client_id")),
      (200, "<html>", .invalidResponse("the response to the registration has no client_id")),
    ] as [(Int, String, SessionError)] {
      let server = server()
      server.on("/register", status: status, json: body)
      await #expect(throws: error, "\(status) \(body)") {
        _ = try await backend(server).register(as: "Handstamp", redirectURI: Self.redirect)
      }
    }
  }

  @Test(arguments: [
    (401, #"{"error":"invalid_client"}"#, true), (400, #"{"error":"invalid_client"}"#, true),
    (400, #"{"error":"invalid_grant"}"#, false), (503, #"{"error":"invalid_client"}"#, false), (0, "", false),
    (401, "", false), (400, #"{"error":"unauthorized_client"}"#, false),
  ])
  func `is forgotten only if its server says so`(status: Int, body: String, isForgotten: Bool) async throws {
    let server = server()
    server.on("/token", status: status, json: body)
    let client = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "c1"), transport: server)
    #expect(await client.isForgotten() == isForgotten)
    let form = try #require(server.forms(to: "/token").first)
    #expect(form["client_id"] == "c1" && form["grant_type"] == "authorization_code" && form["code"]?.isEmpty == false)
  }
}
