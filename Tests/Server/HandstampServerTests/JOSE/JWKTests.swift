#if Programs
import Crypto
import CryptoExtras
import Foundation
import HandstampJOSE
import HandstampSupport
import Testing

/// RFC 7517 and 7638.
@Suite(.timeLimit(.minutes(10))) struct `A key as JSON` {
  private func jwk(_ text: String) -> JWK? { JSONValue(Array(text.utf8)).flatMap(JWK.init) }

  private func rsa(_ key: _RSA.Signing.PublicKey, _ change: (inout [String: String]) -> Void = { _ in }) throws -> JWK?
  {
    let numbers = try key.getKeyPrimitives()
    var members = ["kty": "RSA", "n": Base64URL.encode(numbers.modulus), "e": Base64URL.encode(numbers.publicExponent)]
    change(&members)
    return jwk(String(decoding: try JSONSerialization.data(withJSONObject: members), as: UTF8.self))
  }

  @Test func `has the standard's thumbprint, and Authlib's`() async throws {
    #expect(jwk(StandardKeys.thumbprintKey)?.key.thumbprint == StandardKeys.thumbprint)
    #expect(jwk(StandardKeys.thumbprintKey)?.id == "2011-04-29")
    for key in [StandardKeys.rs256, StandardKeys.es256] {
      let answer = try await Authlib.ask(#"{"do":"thumbprint","key":\#(key)}"#)
      #expect(answer["thumbprint"] == jwk(key)?.key.thumbprint)
    }
  }

  @Test func `is read as it was written, without the private part`() throws {
    let rsa = try #require(`A signed object`.rsa)
    for key in [JWSPrivateKey.es256(), rsa] {
      let written = JWK(key.publicKey)
      let read = try #require(JSONValue(written.json).flatMap(JWK.init))
      #expect(read == written)
      #expect(read.key.algorithm == key.algorithm)
      let set = JWKSet([written])
      #expect(JWKSet(set.json) == set)
      let members = try #require(try JSONSerialization.jsonObject(with: Data(written.json)) as? [String: String])
      #expect(members["use"] == "sig")
      #expect(members["alg"] == key.algorithm.rawValue)
      let names = key.algorithm == .es256 ? ["crv", "x", "y"] : ["n", "e"]
      #expect(Set(members.keys) == Set(names + ["kty", "use", "alg", "kid"]))
    }
  }

  @Test func `is refused if it is for another purpose or algorithm`() throws {
    let members = StandardKeys.es256.dropLast()
    for more in [
      #""use":"sig""#, #""key_ops":["verify"]"#, #""key_ops":["sign","verify"]"#, #""alg":"ES256""#, #""kid":"a""#,
      #""x5c":["AAAA"]"#,
    ] { #expect(jwk(members + "," + more + "}") != nil, "\(more)") }
    for more in [
      #""use":"enc""#, #""use":7"#, #""key_ops":["sign"]"#, #""key_ops":[]"#, #""key_ops":"verify""#, #""alg":"RS256""#,
      #""alg":"HS256""#, #""alg":null"#, #""kid":7"#, #""d":"AAAA""#, #""d":null"#, #""k":"AAAA""#, #""kty":"EC""#,
    ] { #expect(jwk(members + "," + more + "}") == nil, "\(more)") }
  }

  @Test(arguments: [
    "{}", "[]", #"{"kty":"EC"}"#, #"{"kty":"oct","k":"AAAA"}"#, #"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#,
    #"{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}"#, #"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#,
    #"{"kty":"RSA","n":"","e":""}"#,
  ])
  func `of another type or size is refused`(_ text: String) {
    #expect(jwk(text) == nil)
  }

  @Test func `is refused for a point off the curve, and another spelling`() {
    let point = { (x: String, y: String) in jwk(#"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"}"#) }
    let (x, y) = ("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
    #expect(point(x, y) != nil)
    let zeros = Base64URL.encode([UInt8](repeating: 0, count: 32))
    for (x, y) in [(y, x), (x, x), (zeros, zeros), (x + "=", y), ("AA" + x, y), (String(x.dropLast(2)), y), (x, "")] {
      #expect(point(x, y) == nil)
    }
    #expect(jwk(StandardKeys.es256.replacing("P-256", with: "P-384")) == nil)
    #expect(jwk(StandardKeys.es256.replacing("P-256", with: "secp256k1")) == nil)
  }

  @Test func `of RSA has 2048 to 8192 bits`() throws {
    let good = try _RSA.Signing.PublicKey(
      pemRepresentation: _RSA.Signing.PrivateKey(pemRepresentation: #require(`A signed object`.rsa).pem).publicKey
        .pemRepresentation)
    #expect(try rsa(good) != nil)
    let small = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024)).publicKey
    #expect(try rsa(small) == nil)
    let modulus = Array(try good.getKeyPrimitives().modulus)
    for (name, n) in [
      ("a leading zero", [0] + modulus), ("a bit less than 2048", [modulus[0] & 0x7F | 0x40] + modulus.dropFirst()),
      ("8200 bits", modulus + [UInt8](repeating: 0xFF, count: 1025 - 256)),
      ("64 KiB", [UInt8](repeating: 0xFF, count: 65_536)), ("even", modulus.dropLast() + [0]),
    ] { #expect(try rsa(good) { $0["n"] = Base64URL.encode(n) } == nil, "\(name)") }
    for (name, e) in [("one", [1]), ("even", [2]), ("zero", [0]), ("a leading zero", [0, 1, 0, 1])]
      as [(String, [UInt8])]
    {
      #expect(try rsa(good) { $0["e"] = Base64URL.encode(e) } == nil, "\(name)")
    }
    #expect(try rsa(good) { $0["e"] = Base64URL.encode([UInt8](repeating: 0xFF, count: 32)) } == nil)
  }

  @Test func `is one of at most 32 in a set of 64 KiB, whose other members are skipped`() throws {
    let keys = (0..<33).map { _ in JWK(JWSPrivateKey.es256().publicKey) }
    #expect(JWKSet(JWKSet(keys).json)?.keys == Array(keys.prefix(32)))
    let mixed = #"{"keys":[{"kty":"new"},7,null,{"kty":"oct","k":"AAAA"},\#(StandardKeys.es256)],"more":[]}"#
    #expect(JWKSet(Array(mixed.utf8))?.keys.count == 1)
    #expect(JWKSet(Array(#"{"keys":[]}"#.utf8))?.keys.isEmpty == true)
    for other in ["", "{}", "[]", #"{"keys":{}}"#, #"{"keys":[]}"# + String(repeating: " ", count: 65_536)] {
      #expect(JWKSet(Array(other.utf8)) == nil)
    }
  }

  @Test func `is refused in a file unless it is PKCS 8 of one of the two types`() throws {
    let rsa = try #require(`A signed object`.rsa)
    for key in [JWSPrivateKey.es256(), rsa] {
      let read = try #require(JWSPrivateKey(pem: key.pem))
      #expect(read.publicKey == key.publicKey)
      #expect("\(key)" == "\(key.algorithm.rawValue) key \(key.publicKey.thumbprint)")
      #expect(!String(reflecting: key).contains("BEGIN"))
    }
    let other = try _RSA.Signing.PrivateKey(pemRepresentation: rsa.pem)
    for pem in [
      "", other.pemRepresentation, other.publicKey.pemRepresentation, P384.Signing.PrivateKey().pemRepresentation,
      try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024)).pkcs8PEMRepresentation,
      String(rsa.pem.dropLast(40)),
    ] { #expect(JWSPrivateKey(pem: pem) == nil) }
  }
}
#endif
