#if JOSE
import HandstampSupport
import Testing

@testable import HandstampWebAuthn

/// A trap would end the test process. Seeds are arguments, so that a found one can be repeated.
@Suite(.timeLimit(.minutes(10))) struct `Hostile input` {
  /// SplitMix64.
  struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }

  /// Changes some bytes: flips, heads of CBOR, deletions, insertions, repetitions, an early end.
  private func mutated(_ original: [UInt8], _ random: inout Seeded) -> [UInt8] {
    var bytes = original
    for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<7, using: &random) {
      case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[place] = .random(in: 0 ... .max, using: &random)
      case 2: bytes.remove(at: place)
      case 3: bytes.insert(.random(in: 0 ... .max, using: &random), at: place)
      case 4:
        let argument = UInt64.random(in: 0 ... .max, using: &random) >> UInt64.random(in: 0..<64, using: &random)
        let head = CBORBytes.head(.random(in: 0..<8, using: &random), argument)
        bytes.replaceSubrange(place..<min(place + head.count, bytes.count), with: head)
      case 5: bytes.insert(contentsOf: bytes[place..<min(place + 16, bytes.count)], at: place)
      default: bytes.removeLast(bytes.count - place)
      }
    }
    return bytes
  }

  /// Runs `body` on mutations, until it has done so 10 000 times over all seeds.
  private func each(_ original: [UInt8], seed: UInt64, _ body: ([UInt8]) -> Void) {
    var random = Seeded(state: seed)
    for _ in 0..<1000 { body(mutated(original, &random)) }
  }

  /// Returns how many of 1000 changed copies of `original` can be read.
  private func readable(_ original: [UInt8], seed: UInt64, _ read: ([UInt8]) -> Bool) -> Int {
    var count = 0
    each(original, seed: seed) { if read($0) { count += 1 } }
    return count
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func `of CBOR never traps`(seed: UInt64) throws {
    var draft = try SoftAuthenticator().registration()
    draft.statement = CBORBytes.map([
      (CBORBytes.text("alg"), CBORBytes.integer(-7)),
      (CBORBytes.text("x5c"), CBORBytes.array([[0xF5], [0xF6], [0x38, 99]])),
    ])
    let bytes = CBORBytes.map([
      (CBORBytes.text("fmt"), CBORBytes.text("packed")), (CBORBytes.text("attStmt"), draft.statement),
      (CBORBytes.text("authData"), CBORBytes.bytes(draft.data.bytes)),
    ])
    let objects = readable(bytes, seed: seed) { bytes in
      guard let object = try? AttestationObject(bytes) else { return false }
      return (try? AuthenticatorData(object.authenticatorData)) != nil
    }
    #expect((1..<1000).contains(objects))
    #expect(readable(try SoftKey(.rs256).cose, seed: seed) { (try? COSEKey($0)) != nil } < 1000)
    #expect(readable(try SoftKey(.es256).cose, seed: seed) { (try? COSEKey($0)) != nil } < 1000)
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func `of authenticator data never traps`(seed: UInt64) throws {
    var draft = try SoftAuthenticator().registration().data
    draft.flags.insert(.extensions)
    draft.rest = CBORBytes.map([(CBORBytes.text("credProtect"), CBORBytes.integer(2))])
    let keys = readable(draft.bytes, seed: seed) { bytes in
      guard let data = try? AuthenticatorData(bytes[...]), let key = data.attested?.publicKey else { return false }
      return (try? COSEKey(key)) != nil
    }
    #expect((1..<1000).contains(keys))
    draft.flags = [.userPresent]
    draft.rest = []
    #expect((1..<1000).contains(readable(draft.bytes, seed: seed) { (try? AuthenticatorData($0[...])) != nil }))
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func `of bytes at random never traps`(seed: UInt64) {
    var random = Seeded(state: seed)
    for _ in 0..<1000 {
      let bytes = (0..<Int.random(in: 0..<200, using: &random)).map { _ in UInt8.random(in: 0 ... .max, using: &random)
      }
      _ = try? CBORValue(bytes[...])
      _ = try? AuthenticatorData(bytes[...])
      #expect(CollectedClientData(bytes) == nil)
      #expect(throws: PasskeyError.self) { try RegistrationResponse(bytes) }
      #expect(throws: PasskeyError.self) { try AssertionResponse(bytes) }
    }
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func `in place of a response never signs in, and never traps`(seed: UInt64) throws {
    let authenticator = try SoftAuthenticator()
    let (passkey, draft) = (try authenticator.passkey(), authenticator.assertion())
    let party = try Site.server()
    let original = try draft.json
    let good = try AssertionResponse(original)
    each(original, seed: seed) { bytes in
      guard let response = try? AssertionResponse(bytes),
        case .verified = try? party.verifyAssertion(response, challenge: Site.challenge(1), passkey: passkey)
      else { return }
      // The change was in a part that means nothing, or in the name of one.
      #expect(response.authenticatorDataBytes == good.authenticatorDataBytes)
      #expect(response.credential.clientDataBytes == good.credential.clientDataBytes)
      #expect(response.credentialID == good.credentialID)
      #expect(response.userHandle == good.userHandle)
    }
    let registration = try authenticator.registration().json
    let user = try #require(UserHandle(Site.user))
    each(registration, seed: seed) { bytes in
      guard let response = try? RegistrationResponse(bytes) else { return }
      _ = try? party.verifyRegistration(response, challenge: Site.challenge(1), user: user)
    }
  }
}
#endif
