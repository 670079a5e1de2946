#if JOSE
import Foundation
import HandstampSupport
import Testing

@testable import HandstampWebAuthn

/// Responses of Yubico's python-fido2, and of the authenticator of its tests, which its server has accepted.
@Suite(.timeLimit(.minutes(10))) struct `Responses of other software` {
  struct Vector: CustomTestStringConvertible {
    let json: [String: Any]

    var testDescription: String { text("name") }
    func text(_ name: String) -> String { json[name] as? String ?? "" }
    func number(_ name: String) -> Int { json[name] as? Int ?? -1 }

    func response(_ name: String) throws -> [UInt8] {
      let object = try #require(json[name] as? [String: Any])
      return Array(try JSONSerialization.data(withJSONObject: object))
    }

    func challenge(_ name: String) throws -> PasskeyChallenge {
      try #require(Base64URL.decode(text(name)).flatMap { PasskeyChallenge($0) })
    }
  }

  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

  private func vectors() throws -> [Vector] {
    let data = try Data(contentsOf: Self.folder.appendingPathComponent("Independent/vectors.json"))
    let file = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    return try #require(file["vectors"] as? [[String: Any]]).map(Vector.init)
  }

  @Test func `are verified`() throws {
    let vectors = try vectors()
    #expect(vectors.count == 5)
    for vector in vectors {
      let party = try RelyingParty(id: vector.text("rpId"), name: "Example", origins: [vector.text("origin")])
      let user = try #require(Base64URL.decode(vector.text("userHandle")).flatMap { UserHandle($0) })
      let passkey = try party.verifyRegistration(
        try RegistrationResponse(try vector.response("registration")),
        challenge: try vector.challenge("registrationChallenge"), user: user)
      #expect(Int(passkey.publicKey.algorithm.rawValue) == vector.number("algorithm"))
      #expect(Int(passkey.signCount) == vector.number("registrationCount"))
      #expect(passkey.isBackedUp == (vector.json["synced"] as? Bool))
      #expect(passkey.transports == ["internal"])
      let assertion = try AssertionResponse(try vector.response("assertion"))
      let outcome = try party.verifyAssertion(
        assertion, challenge: try vector.challenge("assertionChallenge"), passkey: passkey)
      var used = passkey
      used.signCount = UInt32(vector.number("assertionCount"))
      #expect(outcome == .verified(used), "\(vector.testDescription)")
      // Of the other ceremony's challenge, and of the next vector's key.
      #expect(throws: PasskeyError.wrongChallenge) {
        try party.verifyAssertion(assertion, challenge: try vector.challenge("registrationChallenge"), passkey: passkey)
      }
      let stranger = Passkey(
        id: passkey.id, publicKey: try COSEKey(try SoftKey(passkey.publicKey.algorithm).cose), userHandle: user,
        signCount: 0, isBackupEligible: passkey.isBackupEligible, isBackedUp: false)
      #expect(throws: PasskeyError.wrongSignature) {
        try party.verifyAssertion(assertion, challenge: try vector.challenge("assertionChallenge"), passkey: stranger)
      }
    }
  }
}
#endif
