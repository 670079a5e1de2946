import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A token mint` {
  let mint: TokenMint
  private let now = start
  init() throws { mint = TokenMint(try masterKeys("k1")) }

  @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 1 << 55, (1 << 56) - 1] as [UInt64])
  func `reads its own tokens`(counter: UInt64) {
    let claims = RefreshClaims(session: session(7), counter: counter, mark: KeyMark(rawValue: .max - counter))
    let token = mint.refreshToken(claims)
    #expect(mint.read(token) == .genuine(claims))
    #expect(text(token).hasPrefix("hst1.k1."))
    #expect(token.secret.count <= TokenMint.maxLength)
    #expect(mint.refreshToken(claims) == token)
  }

  /// Made by another implementation of HKDF and HMAC (Python's hmac), from the format's description.
  @Test func `makes tokens as the format describes`() throws {
    let keys = try MasterKeys(current: KeyID("k1"), keys: [KeyID("k1"): Secret(bytes: 0..<32)])
    let id = try #require(SessionBytes(Array(100..<116)))
    let claims = RefreshClaims(session: id, counter: 300, mark: KeyMark(rawValue: 0x0102_0304_0506_0708))
    let mint = TokenMint(keys)
    #expect(text(mint.refreshToken(claims)) == Vectors.token)
    #expect(text(mint.revocationHandle(for: id)) == Vectors.handle)
    let key = try #require(RotationKey(bytes: Array(0..<16)))
    #expect(KeyMark(of: key).rawValue == 0xBE45_CB26_05BF_36BE)
  }

  /// The name is from Python's hmac as well: logs of earlier versions have the same.
  @Test func `makes another MAC of a text for each purpose, and the same name in every log`() throws {
    let mint = TokenMint(try MasterKeys(current: KeyID("k1"), keys: [KeyID("k1"): Secret(bytes: 0..<32)]))
    let macs = TokenMint.Purpose.allCases.map { mint.mac(of: "ada@example.org", for: $0) }
    #expect(Set(macs).count == TokenMint.Purpose.allCases.count)
    #expect(mint.mac(of: "ada@example.org", for: .logName) == "2JWOq0POe2PyfxxV")
    #expect(mint.mac(of: "bob@example.org", for: .logName) != "2JWOq0POe2PyfxxV")
  }

  /// From Python's hmac as well: servers of two versions on one store derive the same sessions.
  @Test func `derives the session that a request begins from its key and its purpose`() throws {
    let mint = TokenMint(try MasterKeys(current: KeyID("k1"), keys: [KeyID("k1"): Secret(bytes: 0..<32)]))
    let key = try #require(RotationKey(bytes: Array(0..<16)))
    let derived = mint.sessions(begunBy: key, for: ["sign-in", "ä", "phone"])
    #expect(derived.map(\.id.rawValue) == ["Y7y1PPk7mLKmaKsyu8jIpA"])
  }

  /// With another purpose, a request that is repeated while the server is upgraded would begin a second session.
  @Test func `derives the sessions of sign-ins and sign-ups from these purposes`() async throws {
    let world = try await World()
    let device = DeviceInfo(id: DeviceID("phone"), name: "x", platform: "linux")
    let start = SessionStart(device: device, key: rotationKey(1))
    func derived(_ purpose: String...) -> SessionBytes? {
      world.registry.mint.sessions(begunBy: rotationKey(1), for: purpose).first
    }
    let signedIn = try await world.registry.createSession(by: .password(of: world.ada), start, now: now)
    #expect(signedIn.row.session == derived("sign-in", world.ada.id.rawValue, "phone"))
    let guest = try await world.registry.signUp(email: nil, username: "", passwordHash: nil, start, now: now)
    #expect(guest.row.session == derived("sign-up", "", "phone"))
    let email = try #require(EmailAddress("Bob@example.org"))
    let bob = try await world.registry.signUp(email: email, username: "B", passwordHash: nil, start, now: now)
    #expect(bob.row.session == derived("sign-up", "bob@example.org", "phone"))
    let other = try #require(EmailAddress("carol@example.org"))
    let carol = try await world.registry.upgrade(
      guest.account, to: .password(other, hash: Secret("$hash")), username: "C", start, now: now)
    #expect(carol.row.session == derived("upgrade", guest.account.id.rawValue, "phone"))
    let nonce = OneTimeTokenRecord(usedNonce: "n", at: now, until: now.advanced(by: .seconds(60)))
    let dave = try await world.registry.signIn(
      as: ExternalIdentity(issuer: "https://a.example", subject: "d"), username: "D", start, nonce: nonce, now: now)
    #expect(dave.row.session == derived("identity", "https://a.example", "d", "phone"))
  }

  @Test func `reports 10,000 tokens with one flipped bit as forged`() {
    var random = SplitMix64(state: 3)
    let token = text(mint.refreshToken(RefreshClaims(session: session(1), counter: 77, mark: mark(1))))
    for _ in 0..<10_000 {
      var bytes = Array(token.utf8)
      bytes[Int.random(in: 8..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
      #expect(mint.read(RefreshToken(Secret(bytes: bytes))) == .forged)
    }
  }

  @Test func `detects every flipped bit in a token's claims`() throws {
    let token = text(mint.refreshToken(RefreshClaims(session: session(1), counter: 77, mark: mark(1))))
    let body = try #require(Base64URL.decode(token.dropFirst("hst1.k1.".count)))
    for bit in 0..<(body.count * 8) {
      var forged = body
      forged[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(mint.read(RefreshToken("hst1.k1." + Base64URL.encode(forged))) == .forged)
    }
  }

  @Test func `refuses anything that is not a token`() {
    let token = text(mint.refreshToken(RefreshClaims(session: session(1), counter: 5, mark: mark(1))))
    let body = token.dropFirst("hst1.k1.".count)
    let odd = [
      "", ".", "..", "...", "hst1", "hst1..", "hst1.k1.", "hst1.k1.AAAA", "hst1..\(body)", "\(token).", "\(token)A",
      "\(token)=", " \(token)", "\(token)\n", "\(token)\0", ".\(token)", "HST1.k1.\(body)", "hst2.k1.\(body)",
      "hsr1.k1.\(body)", "hst1.k1.k1.\(body)", "hst1.K1/.\(body)", "hst1.k\0.\(body)", "hst1.k1.\(body.dropLast())",
      "hst1.k1.\(body.dropLast(4))", "hst1.kkkkkkkkkkkkkkkkk.\(body)", "hst1.k1.\(String(repeating: "A", count: 44))",
      String(repeating: "A", count: 129), String(repeating: "a.", count: 100_000),
      "hst1.k1.\(String(repeating: "é", count: 20))",
    ]
    for text in odd { #expect(mint.read(RefreshToken(text)) == .forged, "\(text.prefix(40))") }
    var random = SplitMix64(state: 9)
    for _ in 0..<1000 {
      let noise = (0..<Int.random(in: 0...150, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      #expect(mint.read(RefreshToken(Secret(bytes: noise))) == .forged)
      #expect(mint.read(RevocationHandle(Secret(bytes: noise))) == .forged)
    }
  }

  @Test func `names a missing key, and only for well-formed tokens`() throws {
    let other = TokenMint(try masterKeys("k2", seed: 2))
    let token = other.refreshToken(RefreshClaims(session: session(1), counter: 5, mark: mark(1)))
    #expect(mint.read(token) == .unknownKey(KeyID("k2")))
    #expect(mint.read(RefreshToken(String(text(token).dropLast()))) == .forged)
    #expect(mint.read(other.revocationHandle(for: session(1))) == .unknownKey(KeyID("k2")))
    let impostor = TokenMint(try masterKeys("k1", seed: 2))
    #expect(mint.read(impostor.refreshToken(RefreshClaims(session: session(1), counter: 5, mark: mark(1)))) == .forged)
    #expect(mint.read(impostor.revocationHandle(for: session(1))) == .forged)
  }

  @Test func `still reads tokens of a former key`() throws {
    let claims = RefreshClaims(session: session(1), counter: 5, mark: mark(1))
    let (before, after) = try (masterKeys("old", "new"), masterKeys("old", "new", current: "new"))
    let (old, new) = (TokenMint(before), TokenMint(after))
    #expect(text(old.refreshToken(claims)).hasPrefix("hst1.old."))
    #expect(text(new.refreshToken(claims)).hasPrefix("hst1.new."))
    for token in [old.refreshToken(claims), new.refreshToken(claims)] {
      #expect(old.read(token) == .genuine(claims))
      #expect(new.read(token) == .genuine(claims))
    }
    #expect(new.read(old.revocationHandle(for: session(1))) == .genuine(session(1)))
    let swapped = "hst1.new." + text(old.refreshToken(claims)).dropFirst("hst1.old.".count)
    #expect(new.read(RefreshToken(swapped)) == .forged)
  }

  @Test func `never mistakes a handle for a token, nor a token for a handle`() {
    let token = mint.refreshToken(RefreshClaims(session: session(1), counter: 0, mark: .zero))
    let handle = mint.revocationHandle(for: session(1))
    #expect(mint.read(handle) == .genuine(session(1)))
    #expect(mint.read(RefreshToken(handle.secret)) == .forged)
    #expect(mint.read(RevocationHandle(token.secret)) == .forged)
    #expect(mint.read(RefreshToken("hst1" + text(handle).dropFirst(4))) == .forged)
    #expect(mint.read(RevocationHandle("hsr1" + text(token).dropFirst(4))) == .forged)
  }

  @Test func `never makes the same token twice`() {
    var seen: Set<Secret> = []
    for number in 0..<500 as Range<UInt64> {
      for counter in 0..<4 as Range<UInt64> {
        seen.insert(
          mint.refreshToken(RefreshClaims(session: session(number), counter: counter, mark: mark(counter))).secret)
      }
      seen.insert(mint.revocationHandle(for: session(number)).secret)
    }
    #expect(seen.count == 500 * 5)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A varint` {
  @Test(
    arguments: [
      (0, [0]), (1, [1]), (127, [127]), (128, [128, 1]), (300, [172, 2]), (16_384, [128, 128, 1]),
      ((1 << 56) - 1, [255, 255, 255, 255, 255, 255, 255, 127]),
    ] as [(UInt64, [UInt8])])
  func `has one encoding`(number: UInt64, bytes: [UInt8]) {
    #expect(Varint.encode(number) == bytes)
    #expect(Varint.decode(bytes) == number)
  }

  @Test(
    arguments: [
      [], [128], [128, 0], [129, 0], [255, 128], [255, 128, 0], [1, 1], [0, 1], [0, 0],
      [128, 128, 128, 128, 128, 128, 128, 128, 1],
      [255, 255, 255, 255, 255, 255, 255, 255, 127], [128, 1, 1],
    ] as [[UInt8]])
  func `has no other encoding`(bytes: [UInt8]) {
    #expect(Varint.decode(bytes) == nil)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Master keys` {
  @Test(arguments: ["", "a.b", "a b", "ä", "a\0", "01234567890123456", "a/b", "a="])
  func `have names that fit in a token`(name: String) {
    let keys = [KeyID(name): Secret(bytes: 0..<32)]
    #expect(throws: DescribedError("\(name) is not a valid key ID")) {
      try MasterKeys(current: KeyID(name), keys: keys)
    }
  }

  @Test func `are long enough, and include the current one`() throws {
    let (a, b) = (KeyID("0123456789-_azAZ"), KeyID("b"))
    let missing = DescribedError("it does not contain the current key b")
    _ = try MasterKeys(current: a, keys: [a: Secret(bytes: 0..<32)])
    #expect(throws: DescribedError("the key \(a) is too short")) {
      try MasterKeys(current: a, keys: [a: Secret(bytes: 0..<31)])
    }
    #expect(throws: missing) { try MasterKeys(current: b, keys: [a: Secret(bytes: 0..<32)]) }
    #expect(throws: missing) { try MasterKeys(current: b, keys: [:]) }
  }

  @Test func `have check values that differ by key and by instance, and never print`() throws {
    let (keys, others) = (try masterKeys("a", "b"), try masterKeys("a", seed: 5))
    let (one, two) = (InstanceID("one"), InstanceID("two"))
    let values = [
      keys.checkValue(of: KeyID("a"), for: one), keys.checkValue(of: KeyID("b"), for: one),
      keys.checkValue(of: KeyID("a"), for: two), others.checkValue(of: KeyID("a"), for: one),
    ]
    #expect(Set(values).count == 4)
    #expect(values.allSatisfy { $0?.count == 16 })
    #expect(keys.checkValue(of: KeyID("c"), for: one) == nil)
    #expect(keys.checkValue(of: KeyID("a"), for: one) == values[0])
    #expect("\(keys)" == "master keys [a, b], current a")
  }

  @Test func `differ each time they are generated`() throws {
    var random = SystemRandomNumberGenerator()
    let drawn = try (0..<20).map { _ in try MasterKeys(drawing: KeyID("k"), from: &random).keys[KeyID("k")] }
    #expect(Set(drawn).count == 20)
    #expect(drawn.allSatisfy { $0?.count == 32 })
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A token mint's description` {
  @Test func `shows no key, nor anything derived from one`() throws {
    let mint = TokenMint(try masterKeys("k1"))
    var dumped = ""
    dump(mint, to: &dumped)
    for text in ["\(mint)", String(reflecting: mint), dumped] {
      #expect(!text.contains("SymmetricKey"))
      #expect(!text.contains("elements\n"))
    }
  }
}
