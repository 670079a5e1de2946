#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampServer

extension TestServer {
  /// A key of each kind, generated once because that is slow.
  static let bothKeys = try? SigningKeys().withRSAKey()
}

/// RFC 9068 section 2.1: a server must support RS256.
@Suite(.timeLimit(.minutes(10))) struct `A client whose APIs know only RS256` {
  private func client(_ algorithm: SigningKeys.Algorithm = .rs256) throws -> ConfiguredClient {
    try ConfiguredClient(
      id: "app", redirectURIs: ["org.example.app:/back"], scopes: ["profile", "read"], accessTokenSigning: algorithm)
  }

  private func header(_ token: String) throws -> WireClient.JSON {
    let part = try #require(Base64URL.decode(Array(token.split(separator: ".")[0].utf8)))
    return WireClient.JSON(try #require(try JSONSerialization.jsonObject(with: Data(part)) as? [String: Any]))
  }

  @Test func `gets tokens that Authlib and the server itself accept`() async throws {
    let keys = try #require(TestServer.bothKeys)
    let client = try client()
    try await TestServer.run(keys: keys) {
      $0.clients = [client]
    } body: { test in
      let phone = try await test.signUp()
      let app = OAuthApp()
      let session = try await app.session(test)
      let refreshed = try await app.refresh(session.refresh, at: test)
      let set = try await test.client.get("/.well-known/jwks.json").text
      for token in [session.access, try #require(refreshed.json["access_token"])] {
        #expect(try header(token)["alg"] == "RS256")
        #expect(try header(token)["kid"] == keys.ids.last)
        #expect(try header(token)["typ"] == "at+jwt")
        let claims = try await Authlib.verify(token, keys: set)[object: "payload"]
        #expect(claims["sub"] == session.account)
        #expect(claims["sid"] == session.id)
        #expect(try await test.client.get("/v1/me", token: token).status == 200)
      }
      // The server's own app is not concerned.
      #expect(try header(phone.access)["alg"] == "ES256")
    }
  }

  @Test func `finds both algorithms in the key set and the metadata`() async throws {
    let keys = try #require(TestServer.bothKeys)
    try await TestServer.run(keys: keys) { test in
      let set = try await test.client.get("/.well-known/jwks.json")
      let served = set.json[list: "keys"]
      // There are clients that take the first key, and know only RSA.
      #expect(served.map { $0["alg"] } == ["RS256", "ES256"])
      #expect(served.map { $0["kid"] } == keys.ids.reversed())
      #expect(Set(try #require(served.first).fields.keys) == ["kty", "n", "e", "use", "alg", "kid"])
      let metadata = try await test.client.get("/.well-known/oauth-authorization-server")
      #expect(metadata.json["access_token_signing_alg_values_supported"] == ["ES256", "RS256"])
    }
    try await TestServer.run { test in
      let metadata = try await test.client.get("/.well-known/oauth-authorization-server")
      #expect(metadata.json["access_token_signing_alg_values_supported"] == ["ES256"])
    }
  }

  @Test func `is refused at the start if there is no RSA key`() async throws {
    let client = try client()
    await #expect(throws: ServerConfigurationError.client(.noSigningKey("app"))) {
      try await TestServer.run({ $0.clients = [client] }) { _ in }
    }
  }
}
#endif
