#if Programs
import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import Handstamp
import HandstampRegistry
import HandstampServer
import HandstampSupport
import HandstampTesting
import Hummingbird
import Testing

/// Sign in with Apple, from the client library to the real server, with a stub for Apple on loopback.
@Suite(.timeLimit(.minutes(10))) struct `Sign in with Apple from end to end` {
  private static func text(_ bytes: some DataProtocol) -> String {
    Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
      .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
  }

  private static func token(
    _ key: _RSA.Signing.PrivateKey, nonce: String, subject: String = "1",
    more: String = #","email":"ada@example.org","email_verified":"true""#
  ) throws -> Secret {
    let hash = SHA256.hash(data: Data(nonce.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let now = Int(Date().timeIntervalSince1970)
    let payload =
      #"{"iss":"https://stand.in","aud":"org.example","sub":"\#(subject)","iat":\#(now),"exp":\#(now + 300),"#
      + #""nonce":"\#(hash)"\#(more)}"#
    let body = text(Data(#"{"alg":"RS256","kid":"one"}"#.utf8)) + "." + text(Data(payload.utf8))
    let signature = try key.signature(for: Data(body.utf8), padding: .insecurePKCS1v1_5)
    return Secret(body + "." + text(signature.rawRepresentation))
  }

  @Test(arguments: Kind.allCases)
  func `signs in once per nonce, and again with another`(_ kind: Kind) async throws {
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    let parts = try key.publicKey.getKeyPrimitives()
    let (n, e) = (Self.text(parts.modulus), Self.text(parts.publicExponent))
    try await OddServer.run { router in
      router.get("/keys") { _, _ in #"{"keys":[{"kty":"RSA","kid":"one","alg":"RS256","n":"\#(n)","e":"\#(e)"}]}"# }
    } _: { url in
      let apple = AppleSignIn(
        clientIDs: ["org.example"], issuer: "https://stand.in", keysURL: url + "/keys",
        transport: Kind.asyncHTTPClient.patient())
      try await RealServer.run(apple: apple) { server async throws in
        let backend = server.backend(kind)
        let controller = SessionController(backend: backend, vault: MemoryVault())
        let token = try Self.token(key, nonce: "the first nonce of this test")
        let first = try await controller.signIn { () async throws(SessionError) in
          try await backend.signInWithApple(
            AppleCredential(idToken: token, nonce: "the first nonce of this test", name: "Ada"))
        }
        #expect(first.profile?.name == "Ada")
        #expect(first.profile?.isAnonymous == false)
        for nonce in ["the first nonce of this test", "another nonce than the token's"] {
          do throws(SessionError) {
            _ = try await backend.signInWithApple(AppleCredential(idToken: token, nonce: nonce))
            Issue.record("the token was accepted")
          } catch {
            guard case .refused("id_token_invalid", _) = error else {
              Issue.record("\(error)")
              continue
            }
          }
        }
        let later = try Self.token(key, nonce: "the second nonce of this test")
        let again = try await backend.signInWithApple(
          AppleCredential(idToken: later, nonce: "the second nonce of this test"))
        #expect(again.profile?.id == first.profile?.id)
        let registry = server.server.registry
        let id = try #require(first.profile?.id)
        let ada = try #require(try await registry.account(id))
        #expect(ada.email?.typed == "ada@example.org" && ada.emailConfirmedAt != nil)
        #expect(try await backend.proofs(token: again.accessToken) == [.apple])

        // A guest becomes Apple's user, unless that one has an account.
        let guest = try await server.backend(kind, device: "tablet").signInAnonymously()
        let taken = await #expect(throws: SessionError.self) {
          try await backend.upgrade(
            by: .apple(
              AppleCredential(
                idToken: try Self.token(key, nonce: "the third nonce of this test"),
                nonce: "the third nonce of this test")),
            token: guest.accessToken)
        }
        #expect(taken?.code == "identity_taken")
        let new = try Self.token(key, nonce: "the fourth nonce of this test", subject: "2", more: "")
        let full = try await server.backend(kind, device: "tablet").upgrade(
          by: .apple(AppleCredential(idToken: new, nonce: "the fourth nonce of this test", name: "Ada")),
          token: guest.accessToken
        ).get()
        #expect(full.profile?.id == guest.profile?.id && full.profile?.name == "Ada")
        #expect(full.profile?.isAnonymous == false)
      }
    }
    try await RealServer.run { server async throws in
      do throws(SessionError) {
        _ = try await server.backend(kind).signInWithApple(AppleCredential(idToken: Secret("x"), nonce: "y"))
        Issue.record("a server without Sign in with Apple accepted the token")
      } catch {
        guard case .unsupported = error else {
          Issue.record("\(error)")
          return
        }
      }
    }
  }

  @Test func `revokes Apple's token of an account that is deleted, which does not wait for Apple`() async throws {
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    let parts = try key.publicKey.getKeyPrimitives()
    let (n, e) = (Self.text(parts.modulus), Self.text(parts.publicExponent))
    let (forms, isDown) = (Locked<[String]>([]), Locked(true))
    try await OddServer.run { router in
      router.get("/keys") { _, _ in #"{"keys":[{"kty":"RSA","kid":"one","alg":"RS256","n":"\#(n)","e":"\#(e)"}]}"# }
      router.post("/token") { request, _ in
        let body = try await request.body.collect(upTo: 65_536)
        forms.withLock { $0.append(String(buffer: body)) }
        return #"{"access_token":"a","refresh_token":"of Apple"}"#
      }
      router.post("/revoke") { request, _ -> HTTPResponse.Status in
        let body = try await request.body.collect(upTo: 65_536)
        forms.withLock { $0.append(String(buffer: body)) }
        return isDown.withLock { $0 } ? .serviceUnavailable : .ok
      }
    } _: { url in
      let team = try #require(
        AppleKey(team: "ABCDE12345", id: "FGHIJ67890", pem: P256.Signing.PrivateKey().pemRepresentation))
      let apple = AppleSignIn(
        clientIDs: ["org.example"], issuer: "https://stand.in", keysURL: url + "/keys", key: team,
        tokenURL: url + "/token", revocationURL: url + "/revoke", transport: Kind.asyncHTTPClient.patient())
      try await RealServer.run(apple: apple) { server async throws in
        let backend = server.backend(.asyncHTTPClient)
        let nonce = "the first nonce of this test"
        let session = try await backend.signInWithApple(
          AppleCredential(idToken: try Self.token(key, nonce: nonce), nonce: nonce, authorizationCode: Secret("c 1")))
        #expect(await eventually { forms.withLock { $0.count } == 1 })
        let asked = forms.withLock { $0[0] }
        #expect(asked.contains("grant_type=authorization_code") && asked.contains("code=c%201"), "\(asked)")
        #expect(asked.contains("client_id=org.example") && asked.contains("client_secret=ey"))
        let again = "the second nonce of this test"
        let proof = Proof.apple(AppleCredential(idToken: try Self.token(key, nonce: again), nonce: again))
        try await backend.deleteAccount(proof: proof, token: session.accessToken)
        #expect(await eventually { forms.withLock { $0.count } >= 2 })
        isDown.withLock { $0 = false }
        let previous = forms.withLock { $0.count }
        #expect(await eventually { forms.withLock { $0.count } > previous })
        #expect(forms.withLock { $0.dropFirst().allSatisfy { $0.contains("token=of%20Apple") } })
        let id = try #require(session.profile?.id)
        #expect(try await eventually { try await server.server.registry.appleGrants(of: id).isEmpty })
      }
    }
  }
}
#endif
