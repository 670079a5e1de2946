#if Programs
import Crypto
import CryptoExtras
import Foundation
import HandstampJOSE
import HandstampSupport
import Testing

/// RFC 7515 and 7518, and what RFC 8725 warns of.
@Suite(.timeLimit(.minutes(10))) struct `A signed object` {
  static let rsa = JWSPrivateKey.rs256(bits: 2048)
  static let ec = JWSPrivateKey.es256()

  private func key(_ algorithm: JWSAlgorithm) throws -> JWSPrivateKey {
    switch algorithm {
    case .es256: Self.ec
    case .rs256: try #require(Self.rsa)
    }
  }

  /// Signs whatever header it is given, as an attacker who has a key could.
  private func signed(_ header: String, by key: JWSPrivateKey, payload: String = #"{"sub":"ada"}"#) throws -> String {
    let input = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload.utf8)
    return input + "." + Base64URL.encode(try #require(key.signature(of: Array(input.utf8))))
  }

  private func payload(_ text: String, _ key: JWSPublicKey) -> String? {
    guard let token = CompactJWS(Array(text.utf8)), let header = token.header else { return nil }
    return token.payload(under: header, signedBy: key).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: JWSAlgorithm.allCases)
  func `that Authlib signed is verified, and the other way around`(_ algorithm: JWSAlgorithm) async throws {
    let theirs = try await Authlib.ask(
      #"{"do":"sign","header":{"alg":"\#(algorithm.rawValue)","typ":"JWT"},"payload":{"sub":"é😀"}}"#)
    let token: String = try #require(theirs["token"])
    let jwk = try JSONSerialization.data(withJSONObject: theirs[object: "key"].fields)
    let their = try #require(JSONValue(Array(jwk)).flatMap(JWK.init))
    #expect(their.key.algorithm == algorithm)
    #expect(their.key.thumbprint == their.id)
    let jws = try #require(CompactJWS(Array(token.utf8)))
    let named = try #require(jws.header)
    #expect(named.type == "JWT")
    #expect(named.keyID == their.id)
    let verified = try #require(jws.payload(under: named, signedBy: their.key))
    #expect(JSONValue(verified)?["sub"] == .string("é😀"))

    let own = try key(algorithm)
    let set = String(decoding: JWKSet([JWK(their.key), JWK(own.publicKey)]).json, as: UTF8.self)
    let header = CompactJWS.header(for: own.publicKey, type: "at+jwt")
    let text = try #require(CompactJWS.signed(Array(#"{"sub":"é😀"}"#.utf8), under: header, by: own))
    let answer = try await Authlib.verify(String(decoding: text, as: UTF8.self), keys: set)
    #expect(answer[object: "payload"]["sub"] == "é😀")
    #expect(answer[object: "header"]["typ"] == "at+jwt")
    #expect(answer[object: "header"]["kid"] == own.publicKey.thumbprint)
  }

  @Test func `of the standard's appendix is verified`() throws {
    let input = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    // RFC 7515 appendices A.2 and A.3.
    for (key, text) in [
      (StandardKeys.rs256, "eyJhbGciOiJSUzI1NiJ9.\(input).\(StandardKeys.rs256Signature)"),
      (StandardKeys.es256, "eyJhbGciOiJFUzI1NiJ9.\(input).\(StandardKeys.es256Signature)"),
    ] {
      let jwk = try #require(JSONValue(Array(key.utf8)).flatMap(JWK.init))
      #expect(payload(text, jwk.key)?.contains("\"iss\":\"joe\"") == true)
      #expect(payload(text.replacing(".ey", with: ".ez"), jwk.key) == nil)
    }
  }

  @Test func `counts only with the algorithm of its key`() throws {
    let (ec, rsa) = (Self.ec, try #require(Self.rsa))
    for (alg, signer) in [("ES256", ec), ("RS256", rsa)] {
      #expect(payload(try signed(#"{"alg":"\#(alg)"}"#, by: signer), signer.publicKey) == #"{"sub":"ada"}"#)
    }
    for alg in [
      "none", "None", "", "HS256", "ES384", "ES256K", "PS256", "RS384", "RS512", "EdDSA", "es256", "Ed25519",
    ] {
      for key in [ec, rsa] {
        #expect(payload(try signed(#"{"alg":"\#(alg)"}"#, by: key), key.publicKey) == nil, "\(alg)")
      }
    }
    // Each is a real signature of the key; only the header names the other algorithm.
    #expect(payload(try signed(#"{"alg":"RS256"}"#, by: ec), ec.publicKey) == nil)
    #expect(payload(try signed(#"{"alg":"ES256"}"#, by: rsa), rsa.publicKey) == nil)
    #expect(payload(try signed(#"{"alg":"ES256"}"#, by: ec), rsa.publicKey) == nil)
    #expect(payload(try signed(#"{"alg":"ES256"}"#, by: ec), JWSPrivateKey.es256().publicKey) == nil)
    // The public key as the secret of a MAC.
    let input = Base64URL.encode(#"{"alg":"HS256"}"#.utf8) + "." + Base64URL.encode("{}".utf8)
    for secret in [Data(JWK(ec.publicKey).json), Data(ec.publicKey.thumbprint.utf8)] {
      let mac = HMAC<SHA256>.authenticationCode(for: Array(input.utf8), using: SymmetricKey(data: secret))
      #expect(payload(input + "." + Base64URL.encode(Array(mac)), ec.publicKey) == nil)
    }
  }

  @Test(arguments: [
    #"{"alg":"ES256","crit":["exp"]}"#, #"{"alg":"ES256","crit":[]}"#, #"{"alg":"ES256","b64":false,"crit":["b64"]}"#,
    #"{"alg":"ES256","b64":true}"#, #"{"alg":"ES256","jku":"https://evil.example"}"#,
    #"{"alg":"ES256","x5u":"https://evil.example"}"#, #"{"alg":"ES256","x5c":["AAAA"]}"#, #"{"alg":"ES256","jwk":OWN}"#,
    #"{"alg":"ES256","enc":"A256GCM"}"#, #"{"alg":"none","alg":"ES256"}"#, #"{"alg":"ES256","alg":"none"}"#,
    #"{"alg":["ES256"]}"#, #"{"alg":null}"#, #"{"kid":"a"}"#, #"{"alg":"ES256","kid":7}"#, #"{"alg":"ES256","typ":7}"#,
    "[]",
    "\"ES256\"", "", "{\"alg\":\"ES256\"",
  ])
  func `with a header that names keys or extensions is refused`(_ header: String) throws {
    let own = String(decoding: JWK(Self.ec.publicKey).json, as: UTF8.self)
    let text = try signed(header.replacing("OWN", with: own), by: Self.ec)
    #expect(payload(text, Self.ec.publicKey) == nil)
    #expect(CompactJWS(Array(text.utf8))?.header == nil)
  }

  @Test func `with its own key proves possession of that key, and nothing else`() throws {
    let own = String(decoding: JWK(Self.ec.publicKey).json, as: UTF8.self)
    func proof(_ header: String, _ algorithms: Set<JWSAlgorithm> = [.es256], by key: JWSPrivateKey = Self.ec) throws
      -> String?
    {
      let text = try signed(header, by: key)
      return CompactJWS(Array(text.utf8))?.payload(provingPossessionAs: "dpop+jwt", with: algorithms)?.key.thumbprint
    }
    let good = #"{"typ":"dpop+jwt","alg":"ES256","jwk":\#(own)}"#
    #expect(try proof(good) == Self.ec.publicKey.thumbprint)
    #expect(try proof(good, [.rs256]) == nil)
    #expect(try proof(good, by: .es256()) == nil)
    #expect(try proof(#"{"typ":"JWT","alg":"ES256","jwk":\#(own)}"#) == nil)
    #expect(try proof(#"{"typ":"dpop+jwt","alg":"ES256"}"#) == nil)
    #expect(try proof(#"{"typ":"dpop+jwt","alg":"ES256","kid":"x","jwk":\#(own.dropLast()),"d":"AA"}}"#) == nil)
    let rsa = try #require(Self.rsa)
    let other = String(decoding: JWK(rsa.publicKey).json, as: UTF8.self)
    let signedByRSA = #"{"typ":"dpop+jwt","alg":"RS256","jwk":\#(other)}"#
    #expect(try proof(signedByRSA, by: rsa) == nil)
    #expect(try proof(signedByRSA, [.es256, .rs256], by: rsa) == rsa.publicKey.thumbprint)
    #expect(try proof(#"{"typ":"dpop+jwt","alg":"ES256","jwk":\#(other)}"#, [.es256, .rs256], by: rsa) == nil)
  }

  @Test func `has one spelling, three parts and at most 8 KiB`() throws {
    let text = try signed(#"{"alg":"ES256"}"#, by: Self.ec)
    for other in [
      text + "=", text + "A", text + ".", "." + text, text + ".A", " " + text, "", ".", "..", "...", "a.b", text + "\n",
      String(text.dropLast()), text.replacing(".", with: ". "),
    ] { #expect(payload(other, Self.ec.publicKey) == nil, "\(other.count)") }
    for (size, fits) in [(5990, true), (8192, false)] {
      let filled = try signed(
        #"{"alg":"ES256"}"#, by: Self.ec, payload: String(repeating: "a", count: size))
      #expect((filled.utf8.count <= CompactJWS.longest) == fits)
      #expect((payload(filled, Self.ec.publicKey) != nil) == fits)
    }
  }

  @Test func `has signatures of exactly one form`() throws {
    let key = P256.Signing.PrivateKey()
    let input = Base64URL.encode(#"{"alg":"ES256"}"#.utf8) + "." + Base64URL.encode("{}".utf8)
    let signature = try key.signature(for: Array(input.utf8))
    let raw = Array(signature.rawRepresentation)
    let isGood = { (bytes: [UInt8]) in
      payload(input + "." + Base64URL.encode(bytes), JWSPrivateKey(key).publicKey) != nil
    }
    #expect(isGood(raw))
    for bad in [
      Array(signature.derRepresentation), Array(raw.dropLast()), raw + [0], [0] + raw, [],
      [UInt8](repeating: 0, count: 64),
      [UInt8](repeating: 255, count: 64), Array(raw.suffix(32) + raw.prefix(32)),
    ] { #expect(!isGood(bad), "\(bad.count)") }
    let rsa = try #require(Self.rsa)
    let text = Base64URL.encode(#"{"alg":"RS256"}"#.utf8) + "." + Base64URL.encode("{}".utf8)
    let long = try #require(rsa.signature(of: Array(text.utf8)))
    #expect(long.count == 256)
    for (bad, fits) in [(long, true), (Array(long.dropLast()), false), ([0] + long, false), ([], false)] {
      #expect((payload(text + "." + Base64URL.encode(bad), rsa.publicKey) != nil) == fits)
    }
    // Another padding, which RS256 does not have.
    let other = try _RSA.Signing.PrivateKey(pemRepresentation: rsa.pem)
    let pss = try other.signature(for: Array(text.utf8), padding: .PSS)
    #expect(payload(text + "." + Base64URL.encode(Array(pss.rawRepresentation)), rsa.publicKey) == nil)
  }
}
#endif
