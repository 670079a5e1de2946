#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampSupport
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Access tokens` {
  static let keys = SigningKeys()
  static let now = UnixTime(seconds: 1_800_000_000)
  let issuer = "https://id.example.org"

  func tokens(
    _ keys: SigningKeys = Self.keys, issuer: String? = nil, audience: String? = nil
  ) throws -> AccessTokens {
    AccessTokens(
      keys: keys, issuer: issuer ?? self.issuer, audience: audience ?? self.issuer, client: "app",
      life: .seconds(10))
  }

  func mint(_ tokens: AccessTokens) throws -> String {
    try tokens.mint(account: AccountID("a"), session: SessionID("s"), at: .init(exactly: Self.now)).text
  }

  @Test func `identify their account for exactly their lifetime`() throws {
    let tokens = try tokens()
    let text = try mint(tokens)
    let claims = try tokens.verify(text[...], at: Self.now).get()
    #expect(claims.account == AccountID("a"))
    #expect(claims.session == SessionID("s"))
    let end = Self.now.advanced(by: .seconds(10))
    #expect(throws: Never.self) { try tokens.verify(text[...], at: end.advanced(by: .milliseconds(-1))).get() }
    #expect(throws: AccessTokens.Refusal.expired) { try tokens.verify(text[...], at: end).get() }
  }

  @Test func `issued between two full seconds last no shorter`() throws {
    let tokens = try tokens()
    let start = Self.now.advanced(by: .milliseconds(1))
    let text = try tokens.mint(account: AccountID("a"), session: SessionID("s"), at: .init(exactly: start)).text
    let last = start.advanced(by: .milliseconds(9999))
    #expect(throws: Never.self) { try tokens.verify(text[...], at: last).get() }
  }

  @Test func `are accepted by an independent verifier with our key set`() async throws {
    let text = try mint(try tokens())
    let answer = try await Authlib.verify(text, keys: String(decoding: Self.keys.publicSet, as: UTF8.self))
    let claims = answer[object: "payload"]
    #expect(claims["iss"] == issuer)
    #expect(claims["aud"] == issuer)
    #expect(claims["client_id"] == "app")
    #expect((claims["exp"] ?? 0) - (claims["iat"] ?? 0) == 10)
    #expect(claims["sub"] == "a")
    #expect(claims["sid"] == "s")
    #expect(claims["jti"] as String? != nil)
    #expect(answer[object: "header"]["typ"] == "at+jwt")
    #expect(answer[object: "header"]["kid"] == Self.keys.ids[0])
    #expect(answer[object: "header"]["alg"] == "ES256")
  }

  @Test func `issued in the same second differ`() throws {
    let tokens = try tokens()
    #expect(try mint(tokens) != mint(tokens))
  }

  @Test func `with any character changed are refused`() throws {
    let tokens = try tokens()
    let text = Array(try mint(tokens).utf8)
    for position in text.indices {
      var changed = text
      // A neighbouring character: at the end of a part, it changes only the spare bits.
      changed[position] = changed[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let verdict = tokens.verify(String(decoding: changed, as: UTF8.self)[...], at: Self.now)
      #expect(verdict == .failure(.invalid), "position \(position)")
    }
    var alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    alphabet.removeAll { $0 == text.last }
    for character in alphabet {
      let changed = String(decoding: text.dropLast() + [character], as: UTF8.self)
      #expect(tokens.verify(changed[...], at: Self.now) == .failure(.invalid))
    }
  }

  @Test func `with RS256 are verified like others, and only with their own key`() throws {
    let keys = try #require(TestServer.bothKeys)
    let tokens = try self.tokens(keys)
    let mint = { (algorithm: SigningKeys.Algorithm) in
      try tokens.mint(
        account: AccountID("a"), session: SessionID("s"), at: .init(exactly: Self.now), signedWith: algorithm
      ).text
    }
    let text = try mint(.rs256)
    #expect(try tokens.verify(text[...], at: Self.now).get().account == AccountID("a"))
    let (parts, others) = (text.split(separator: "."), try mint(.es256).split(separator: "."))
    // Header, payload or signature of the other algorithm.
    for mixed in [
      [others[0], parts[1], parts[2]], [parts[0], others[1], parts[2]], [parts[0], parts[1], others[2]],
    ] { #expect(tokens.verify(mixed.joined(separator: ".")[...], at: Self.now) == .failure(.invalid)) }
    let bytes = Array(text.utf8)
    for position in stride(from: 0, to: bytes.count, by: 7) {
      var changed = bytes
      changed[position] = changed[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(tokens.verify(String(decoding: changed, as: UTF8.self)[...], at: Self.now) == .failure(.invalid))
    }
    // A rotation replaces the key of each kind.
    let both = keys.rotated()
    #expect(Set(both.ids).count == 4)
    let only = try #require(keys.ids.reduce(both) { $0?.without($1) })
    #expect(only.ids.count == 2)
    #expect(throws: Never.self) { try self.tokens(both).verify(text[...], at: Self.now).get() }
    #expect(try self.tokens(only).verify(text[...], at: Self.now) == .failure(.invalid))
  }

  @Test func `have no second spelling, even once they were verified`() throws {
    let tokens = try tokens()
    // Until there is one with a K, which the Kelvin sign is canonically equivalent to.
    var text = try mint(tokens)
    while !text.contains("K") { text = try mint(tokens) }
    #expect(throws: Never.self) { try tokens.verify(text[...], at: Self.now).get() }
    let other = text.replacingOccurrences(of: "K", with: "\u{212A}")
    #expect(other == text)
    #expect(throws: AccessTokens.Refusal.invalid) { try tokens.verify(other[...], at: Self.now).get() }
  }

  @Test func `in another encoding are refused`() throws {
    let tokens = try tokens()
    let text = try mint(tokens)
    for other in [text + "=", text + "A", text + ".", "." + text, text + ".A", " " + text, text.uppercased(), "", ".."]
    {
      #expect(tokens.verify(other[...], at: Self.now) == .failure(.invalid), "\(other.count)")
    }
  }

  @Test(arguments: [
    #"{"alg":"none","typ":"at+jwt"}"#, #"{"alg":"None","kid":"KID","typ":"at+jwt"}"#,
    #"{"alg":"HS256","kid":"KID","typ":"at+jwt"}"#, #"{"alg":"ES256","kid":"KID","typ":"JWT"}"#,
    #"{"alg":"ES256","kid":"other","typ":"at+jwt"}"#, #"{"alg":"ES256","typ":"at+jwt","kid":"KID"}"#,
    #"{"alg":"ES256","jku":"http://127.0.0.1:1/","kid":"KID","typ":"at+jwt"}"#,
  ])
  func `with a foreign header are refused, even if correctly signed`(_ header: String) throws {
    let tokens = try tokens()
    let payload = try mint(tokens).split(separator: ".")[1]
    let head = Base64URL.encode(header.replacing("KID", with: Self.keys.ids[0]).utf8)
    let input = Array("\(head).\(payload)".utf8)
    let key = try P256.Signing.PrivateKey(Self.keys)
    // The three ways to sign it: not at all, with the public key as a shared secret, and properly.
    let shared = HMAC<SHA256>.authenticationCode(
      for: input, using: SymmetricKey(data: Data(key.publicKey.pemRepresentation.utf8)))
    let proper = try key.signature(for: input).rawRepresentation
    for signature in ["", Base64URL.encode(shared), Base64URL.encode(proper)] {
      let text = String(decoding: input, as: UTF8.self) + "." + signature
      #expect(tokens.verify(text[...], at: Self.now) == .failure(.invalid))
    }
  }

  @Test func `of another issuer, audience or key are refused`() throws {
    let tokens = try tokens()
    for foreign in [
      try self.tokens(issuer: "https://evil.example.org", audience: issuer),
      try self.tokens(audience: "https://other.example.org"), try self.tokens(SigningKeys()),
    ] {
      #expect(tokens.verify(try mint(foreign)[...], at: Self.now) == .failure(.invalid))
    }
  }

  @Test func `survive a key rotation, until the former key is dropped`() throws {
    let old = try mint(try tokens())
    let changed = Self.keys.rotated()
    #expect(changed.ids[0] != Self.keys.ids[0])
    let both = try tokens(changed)
    #expect(throws: Never.self) { try both.verify(old[...], at: Self.now).get() }
    #expect(throws: Never.self) { try both.verify(mint(both)[...], at: Self.now).get() }
    let after = try tokens(#require(changed.without(Self.keys.ids[0])))
    #expect(after.verify(old[...], at: Self.now) == .failure(.invalid))
  }
}

extension P256.Signing.PrivateKey {
  /// The key that signs a server's new tokens.
  init(_ keys: SigningKeys) throws { try self.init(pemRepresentation: #require(keys.keys.first).pem) }
}

@Suite(.timeLimit(.minutes(10))) struct `Signing keys` {
  @Test(arguments: [SigningKeys().rotated(), TestServer.bothKeys])
  func `round-trip through their file, which says its form`(_ made: SigningKeys?) throws {
    let keys = try #require(made)
    let read = try SigningKeys(pem: keys.pem)
    #expect(read.ids == keys.ids)
    #expect(read.pem == keys.pem)
    #expect(read.algorithms == keys.algorithms)
    #expect(read.derived("x") == keys.derived("x"))
    #expect(try read.withRSAKey().ids.starts(with: keys.ids))
    let (line, text) = ("handstamp-signing-keys: 1\n", keys.pem.withExposed { $0 })
    #expect(text.hasPrefix(line))
    let blocks = String(text.dropFirst(line.count))
    for (other, fault) in [
      (blocks, ServerConfigurationError.signingKeyFormat), (text.replacing(": 1", with: ": 2"), .signingKeyFormat),
      (text.replacing(": 1", with: ": "), .signingKeyFormat), (line, .signingKeys), (line + "junk", .signingKeys),
    ] { #expect(throws: fault) { try SigningKeys(pem: Secret(other)) } }
  }

  @Test func `are not of RSA alone`() throws {
    let text = try #require(TestServer.bothKeys).pem.withExposed { $0 }
    let end = "-----END PRIVATE KEY-----\n"
    let alone = "handstamp-signing-keys: 1\n" + text.components(separatedBy: end)[1] + end
    #expect(throws: ServerConfigurationError.signingKeys) { try SigningKeys(pem: Secret(alone)) }
  }

  @Test(arguments: ["", "\n", "garbage", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
  func `are never generated in place of an invalid file`(_ text: String) {
    #expect(throws: ServerConfigurationError.self) { try SigningKeys(pem: Secret(text)) }
  }

  @Test func `with a damaged tail are refused altogether`() throws {
    let keys = SigningKeys()
    let text = keys.pem.withExposed { $0 + "-----BEGIN PRI" }
    #expect(throws: ServerConfigurationError.self) { try SigningKeys(pem: Secret(text)) }
  }

  @Test func `show no private part in the key set`() {
    let keys = SigningKeys()
    let text = String(decoding: keys.publicSet, as: UTF8.self)
    #expect(!text.contains("\"d\""))
    #expect(text.contains(keys.ids[0]))
  }
}
#endif
