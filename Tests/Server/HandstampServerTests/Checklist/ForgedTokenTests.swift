#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Testing

@testable import HandstampServer

/// Section V9 of docs/asvs.md: forgeries that look like an access token, some of them signed with our own key.
@Suite(.timeLimit(.minutes(10))) struct `A forged access token` {
  private func signature(_ input: String, _ key: P256.Signing.PrivateKey) throws -> String {
    Base64URL.encode(Array(try key.signature(for: Array(input.utf8)).rawRepresentation))
  }

  /// The payload of a valid token of `session`, with extra fields.
  private func payload(_ session: TestServer.Session, adding more: [String: Any] = [:]) throws -> String {
    let part = try #require(Base64URL.decode(Array(session.access.split(separator: ".")[1].utf8)))
    var claims = try #require(try JSONSerialization.jsonObject(with: Data(part)) as? [String: Any])
    claims.merge(more) { $1 }
    return Base64URL.encode(Array(try JSONSerialization.data(withJSONObject: claims)))
  }

  private func isRefused(_ token: String, _ test: TestServer, _ what: String) async throws {
    let answer = try await test.client.get("/v1/me", token: token)
    #expect(answer.status == 401, "\(what)")
    #expect(answer.code == "token_invalid", "\(what)")
    #expect(answer.isProblem, "\(what)")
  }

  @Test func `without a signature, or signed with the public key as a shared secret, is refused`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let (key, id) = (try P256.Signing.PrivateKey(test.keys), test.keys.ids[0])
      let payload = try payload(session)
      for algorithm in ["none", "None", "NONE", "nOnE", "HS256", "ES384", "ES256K"] {
        let header = #"{"alg":"\#(algorithm)","kid":"\#(id)","typ":"at+jwt"}"#
        let input = Base64URL.encode(header.utf8) + "." + payload
        let publicKey = key.publicKey
        let shared = [
          Data(publicKey.pemRepresentation.utf8), publicKey.derRepresentation, publicKey.x963Representation,
        ].map { secret in
          Base64URL.encode(
            HMAC<SHA256>.authenticationCode(for: Array(input.utf8), using: SymmetricKey(data: secret)))
        }
        for signature in ["", try signature(input, key)] + shared {
          try await isRefused(input + "." + signature, test, algorithm)
        }
      }
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
    }
  }

  @Test func `that brings or links to its own key is refused, and the link is not followed`() async throws {
    final class Visitors: RouterMiddleware {
      typealias Context = ServerContext
      let count = Locked(0)
      func handle(
        _ request: Request, context: ServerContext,
        next: @concurrent (Request, ServerContext) async throws -> Response
      ) async throws -> Response {
        count.withLock { $0 += 1 }
        return try await next(request, context)
      }
    }
    let visitors = Visitors()
    try await TestServer.run(middlewares: [visitors]) { thief in
      let there = thief.client.base + "/.well-known/jwks.json"
      let own = try P256.Signing.PrivateKey(thief.keys)
      let ownID = thief.keys.ids[0]
      let jwk = String(decoding: JWK(JWSPrivateKey(own).publicKey).json, as: UTF8.self)
      try await TestServer.run { test in
        let session = try await test.signUp()
        let payload = try payload(session)
        let kid = test.keys.ids[0]
        for more in [
          #""jku":"\#(there)""#, #""x5u":"\#(there)""#, #""jwk":\#(jwk)"#,
          #""x5c":["AAAA"]"#, #""crit":["exp"]"#,
        ] {
          for id in [kid, ownID, "../../dev/null", ""] {
            let header = #"{"alg":"ES256",\#(more),"kid":"\#(id)","typ":"at+jwt"}"#
            let input = Base64URL.encode(header.utf8) + "." + payload
            try await isRefused(input + "." + (try signature(input, own)), test, more)
          }
        }
      }
    }
    #expect(visitors.count.withLock { $0 } == 0)
  }

  @Test func `that is not yet valid is refused until then`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let key = try P256.Signing.PrivateKey(test.keys)
      let head = session.access.split(separator: ".")[0]
      let start = test.clock.now.seconds + 120
      let input = "\(head)." + (try payload(session, adding: ["nbf": start]))
      let token = input + "." + (try signature(input, key))
      try await isRefused(token, test, "nbf")
      test.clock.advance(by: .seconds(121))
      #expect(try await test.client.get("/v1/me", token: token).status == 200)
    }
  }

  @Test func `of another type is refused, even if our own key signed it`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let (key, id) = (try P256.Signing.PrivateKey(test.keys), test.keys.ids[0])
      let payload = try payload(session)
      for type in ["JWT", "logout+jwt", "dpop+jwt", "id_token", "AT+JWT", "application/at+jwt", ""] {
        let header = #"{"alg":"ES256","kid":"\#(id)","typ":"\#(type)"}"#
        let input = Base64URL.encode(header.utf8) + "." + payload
        try await isRefused(input + "." + (try signature(input, key)), test, type)
      }
    }
  }

  @Test func `in another encoding is refused`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let parts = session.access.split(separator: ".").map(String.init)
      // The last digit of a signature has four spare bits: fifteen other encodings of the same bytes, and longer ones.
      let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
      let place = try #require(alphabet.firstIndex(of: parts[2].last ?? " "))
      let twins = (0..<64).filter { $0 >> 4 == place >> 4 && $0 != place }
      #expect(twins.count == 15)
      for twin in twins { try await isRefused(String(session.access.dropLast()) + "\(alphabet[twin])", test, "twin") }
      for text in [
        session.access + "A", session.access + "=", session.access + "==", session.access + ".",
        parts[0] + "=." + parts[1] + "." + parts[2], parts[0] + "." + parts[1] + "=." + parts[2],
        session.access.replacing("-", with: "+").replacing("_", with: "/") + "=",
      ] { try await isRefused(text, test, "spelling") }
    }
  }
}
#endif
