import Foundation
import Handstamp
import HandstampOAuth
import Testing

/// Runs the code of the guide FromAuth0, whose text is Guides/Auth0Forum.swift, against the answers that Auth0's public
/// documentation shows (https://auth0.com/docs/api/authentication); the values are made up.
@MainActor @Suite(.timeLimit(.minutes(10))) struct `The Auth0 guide` {
  private nonisolated static let metadata = """
    {"issuer":"https://example.eu.auth0.com/","authorization_endpoint":"https://example.eu.auth0.com/authorize",
    "token_endpoint":"https://example.eu.auth0.com/oauth/token",
    "device_authorization_endpoint":"https://example.eu.auth0.com/oauth/device/code",
    "userinfo_endpoint":"https://example.eu.auth0.com/userinfo",
    "mfa_challenge_endpoint":"https://example.eu.auth0.com/mfa/challenge",
    "jwks_uri":"https://example.eu.auth0.com/.well-known/jwks.json",
    "registration_endpoint":"https://example.eu.auth0.com/oidc/register",
    "revocation_endpoint":"https://example.eu.auth0.com/oauth/revoke",
    "scopes_supported":["openid","profile","offline_access","name","given_name","family_name","nickname","email",
    "email_verified","picture","created_at","identities","phone","address"],
    "response_types_supported":["code","token","id_token","code token","code id_token","token id_token",
    "code token id_token"],"code_challenge_methods_supported":["S256","plain"],
    "response_modes_supported":["query","fragment","form_post"],"subject_types_supported":["public"],
    "token_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post","private_key_jwt"],
    "id_token_signing_alg_values_supported":["HS256","RS256","PS256"],"request_uri_parameter_supported":false}
    """

  private nonisolated static func tokens(_ number: Int, idToken: String? = nil) -> String {
    """
    {"access_token":"eyJ.access.\(number)","refresh_token":"v1.refresh\(number)",
    \(idToken.map { #""id_token":"\#($0)","# } ?? "")"scope":"openid profile offline_access","expires_in":86400,
    "token_type":"Bearer"}
    """
  }

  /// Auth0, with its sign-in page and the app's API.
  private let server = StubServer(metadata: metadata)

  /// Agrees on Auth0's page. The ID token that follows names the page's nonce.
  private func person(isIDTokenIssued: Bool = true) -> Person {
    Person { [server] page throws(RedirectError) in
      guard page["audience"] == "https://api.example.org/", page["code_challenge_method"] == "S256" else {
        throw .unavailable("audience and PKCE are missing")
      }
      let claims = """
        {"iss":"https://example.eu.auth0.com/","aud":"the application's client ID","sub":"auth0|5f7c8ec7c33c6c004bbafe82",
        "name":"Ada Lovelace","nonce":"\(page["nonce"] ?? "")","iat":1763820000,"exp":4000000000}
        """
      server.on(
        "/oauth/token",
        json: Self.tokens(1, idToken: isIDTokenIssued ? StubServer.unsigned(claims) : nil))
      return try Person.agreeing(code: "SplxlOBeZQQYbYS6WxSbIA").answer(page)
    }
  }

  /// Deletes the vault afterwards.
  private func forum(_ body: (Auth0Forum) async throws -> Void) async throws {
    let name = "handstamp-auth0-guide-\(UUID().uuidString)"
    let home = FileManager.default.homeDirectoryForCurrentUser
    let state = ProcessInfo.processInfo.environment["XDG_STATE_HOME"].map { URL(fileURLWithPath: $0) }
    let places = [state ?? home.appending(path: ".local/state"), home.appending(path: "Library/Application Support")]
    defer {
      for place in places { try? FileManager.default.removeItem(at: place.appending(path: name)) }
    }
    // Without the least age of a token that is refreshed: the test refreshes at once.
    let policy = SessionPolicy(refresh: RefreshPolicy(usesTimer: false, minimumAge: .zero))
    try await body(Auth0Forum(vault: .sealedFile(name), transport: server, policy: policy))
  }

  @Test func `signs in, calls the API, refreshes and revokes`() async throws {
    server.on("/messages", json: #"[{"text":"Hello"}]"#)
    server.on("/oauth/revoke") { _, _ in TransportResponse(status: 200) }
    try await forum { forum in
      try await forum.signIn(through: person())
      #expect(forum.session.currentUser == Profile(id: "auth0|5f7c8ec7c33c6c004bbafe82", name: "Ada Lovelace"))
      let code = try #require(server.forms(to: "/oauth/token").first)
      #expect(code["grant_type"] == "authorization_code")
      #expect(code["redirect_uri"] == "org.example.forum://example.eu.auth0.com/callback")
      #expect(try await forum.messages().map(\.text) == ["Hello"])
      server.on("/oauth/token", json: Self.tokens(2))
      _ = try await forum.session.controller.token(replacing: AccessToken("eyJ.access.1"))
      #expect(try await forum.messages().map(\.text) == ["Hello"])
      #expect(
        server.requests(to: "/messages").map { $0.headers.first(named: "Authorization") }
          == ["Bearer eyJ.access.1", "Bearer eyJ.access.2"])
      await forum.signOut()
      #expect(await forum.session.controller.waitForRevocations(timeout: .seconds(600)))
      #expect(server.forms(to: "/oauth/revoke").map { $0["token"] } == ["v1.refresh2"])
      #expect(!forum.session.isAuthenticated)
    }
  }

  @Test func `asks who signed in where no ID token came`() async throws {
    server.on("/userinfo", json: #"{"sub":"auth0|5f7c8ec7c33c6c004bbafe82","name":"Ada Lovelace","nickname":"ada"}"#)
    try await forum { forum in
      try await forum.signIn(through: person(isIDTokenIssued: false))
      #expect(forum.session.currentUser?.name == "Ada Lovelace")
    }
  }
}
