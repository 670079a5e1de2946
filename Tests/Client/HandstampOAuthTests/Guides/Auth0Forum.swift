import Foundation
import Handstamp
import HandstampOAuth

/// An app whose users sign in at Auth0, and whose API takes Auth0's access tokens.
@MainActor final class Auth0Forum {
  nonisolated struct Message: Decodable {
    let text: String
  }

  let auth0: OAuthBackend
  let session: SessionManager<Void>

  /// - Parameter vault: `.standard("org.example.forum")`: the keychain on Apple platforms, an encrypted file on Linux.
  init(
    vault: any Vault, transport: any Transport = URLSessionTransport(), policy: SessionPolicy = .aheadOfExpiry
  ) {
    let client = OAuthClient(
      issuer: "https://example.eu.auth0.com/",  // with a slash at the end, as Auth0 writes it
      id: "the application's client ID",
      scopes: ["openid", "profile", "offline_access"],  // `offline_access` asks for a refresh token
      parameters: ["audience": "https://api.example.org/"])  // the API's identifier; without it the token is for no API
    auth0 = OAuthBackend(client, transport: transport)
    session = SessionManager(
      backend: auth0, vault: vault, baseURL: URL(string: "https://api.example.org")!, transport: transport,
      policy: policy)
  }

  func signIn(through browser: some RedirectReceiver) async throws {
    try await session.signIn { [auth0] in
      try await auth0.signIn(through: browser, redirectURI: "org.example.forum://example.eu.auth0.com/callback")
    }
  }

  func messages() async throws(APIError) -> [Message] {
    try await session.api.get("/messages")
  }

  /// The refresh token is revoked, now or as soon as Auth0 is reachable.
  func signOut() async { await session.signOut() }
}
