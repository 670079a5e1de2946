#if JOSE
import Crypto
import HandstampSupport
import Testing

@testable import HandstampWebAuthn

/// Section 7.1 of WebAuthn Level 2, one test for each step.
@Suite(.timeLimit(.minutes(10))) struct `A registration` {
  private func expect(
    _ error: PasskeyError, at location: SourceLocation = #_sourceLocation,
    _ change: (inout RegistrationDraft) throws -> Void
  ) throws {
    var draft = try SoftAuthenticator().registration()
    // The only reason why it fails is the change.
    #expect(throws: Never.self, sourceLocation: location) { try Site.register(draft) }
    try change(&draft)
    #expect(throws: error, sourceLocation: location) { try Site.register(draft) }
  }

  @Test(arguments: COSEAlgorithm.allCases)
  func `gives a passkey to be stored`(_ algorithm: COSEAlgorithm) throws {
    let authenticator = try SoftAuthenticator(algorithm)
    var draft = try authenticator.registration()
    draft.data.signCount = 77
    draft.data.flags.formUnion([.backupEligible, .backedUp])
    let passkey = try Site.register(draft)
    #expect(passkey.id.bytes == authenticator.id)
    #expect(try passkey.publicKey.bytes == authenticator.key.cose)
    #expect(passkey.publicKey.algorithm == algorithm)
    #expect(passkey.userHandle.bytes == Site.user)
    #expect(passkey.signCount == 77)
    #expect(passkey.isBackupEligible)
    #expect(passkey.isBackedUp)
    #expect(passkey.transports == ["internal", "hybrid"])
    #expect(passkey.aaguid == [UInt8](repeating: 9, count: 16))
    draft.data.flags.subtract([.backedUp])
    #expect(try !Site.register(draft).isBackedUp)
    draft.data.flags.subtract([.backupEligible])
    #expect(try !Site.register(draft).isBackupEligible)
  }

  @Test func `works from each origin of the server`() throws {
    let draft = try SoftAuthenticator().registration(at: Site(origin: "https://example.com"))
    #expect(throws: Never.self) { try Site.register(draft) }
  }

  @Test func `tells its challenge, before anything is verified`() throws {
    var draft = try SoftAuthenticator().registration()
    #expect(try RegistrationResponse(draft.json).claimedChallenge == Site.challenge(1))
    draft.clientData.challenge = "AQ"
    #expect(try RegistrationResponse(draft.json).claimedChallenge == nil)
  }

  // MARK: The response

  @Test func `is JSON of limited size`() throws {
    let json = try SoftAuthenticator().registration().json
    let spaces = [UInt8](repeating: 0x20, count: 64 * 1024 - json.count)
    #expect(throws: Never.self) { try RegistrationResponse(json + spaces) }
    #expect(throws: PasskeyError.responseTooLong) { try RegistrationResponse(json + spaces + [0x20]) }
    #expect(throws: PasskeyError.malformedResponse(member: "")) { try RegistrationResponse([]) }
    #expect(throws: PasskeyError.malformedResponse(member: "")) { try RegistrationResponse(Array(json.dropLast())) }
    #expect(throws: PasskeyError.malformedResponse(member: "type")) { try RegistrationResponse(Array("[]".utf8)) }
  }

  @Test func `has all members`() throws {
    for name in ["id", "rawId", "response"] {
      try expect(.malformedResponse(member: name)) { $0.envelope.without = [name] }
    }
    try expect(.malformedResponse(member: "type")) { $0.envelope.type = nil }
    for name in ["clientDataJSON", "attestationObject"] {
      try expect(.malformedResponse(member: "response.\(name)")) { $0.envelope.without = [name] }
    }
    try expect(.malformedResponse(member: "response")) { $0.envelope.response = "[]" }
    try expect(.malformedResponse(member: "response.clientDataJSON")) {
      $0.envelope.response = #"{"clientDataJSON":"AA==","attestationObject":"AA"}"#
    }
    try expect(.malformedResponse(member: "rawId")) { $0.envelope.rawID = "\"\"" }
    try expect(.malformedResponse(member: "rawId")) { $0.envelope.rawID = "\"*\"" }
    try expect(.malformedResponse(member: "id")) { $0.envelope.id = "1" }
  }

  @Test func `is of a public key`() throws {
    try expect(.wrongCredentialType) { $0.envelope.type = "password" }
  }

  @Test func `has one ID`() throws {
    try expect(.contradictoryID) { $0.envelope.id = "\"AQ\"" }
    try expect(.contradictoryID) { $0.envelope.rawID = "\"AQ\"" }
    try expect(.contradictoryCredentialID) { $0.id = [1] }
    try expect(.contradictoryCredentialID) { $0.data.id = [1] }
  }

  @Test func `has transports that are few and short`() throws {
    for others in [
      "1", "[1]", "[\"\"]", "[\"usb\",null]", "[\"a b\"]", "[\"é\"]", "\"usb\"",
      "[\"\(String(repeating: "a", count: 33))\"]",
      "[\(Array(repeating: "\"a\"", count: 17).joined(separator: ","))]",
    ] {
      try expect(.malformedTransports) { $0.others = "\"transports\":\(others)" }
    }
    for (others, transports) in [("", []), (#""transports":null"#, []), (#""transports":["new"]"#, ["new"])] {
      var draft = try SoftAuthenticator().registration()
      draft.others = others
      #expect(try Site.register(draft).transports == transports)
    }
  }

  // MARK: Client data

  @Test func `has client data`() throws {
    try expect(.malformedClientData) { $0.clientData.whole = Array("{".utf8) }
    try expect(.malformedClientData) { $0.clientData.type = nil }
    try expect(.malformedClientData) { $0.clientData.challenge = nil }
    try expect(.malformedClientData) { $0.clientData.origin = nil }
    // Two parsers could read different origins.
    try expect(.malformedClientData) { $0.clientData.others = #""origin":"https://evil.example""# }
  }

  @Test func `is no assertion`() throws {
    try expect(.wrongCeremony) { $0.clientData.type = "webauthn.get" }
    try expect(.wrongCeremony) { $0.clientData.type = "Webauthn.create" }
  }

  @Test func `answers the challenge`() throws {
    try expect(.wrongChallenge) { $0.clientData.challenge = Site.challenge(2).text }
    try expect(.wrongChallenge) { $0.clientData.challenge = "" }
    try expect(.wrongChallenge) { $0.clientData.challenge = Site.challenge(1).text + "=" }
  }

  @Test(arguments: [
    "https://evil.example", "https://login.example.com:8443", "http://login.example.com", "https://login.example.com/",
    "https://LOGIN.example.com", "https://other.example.com", "", "null", "https://login.example.com.evil.example",
  ])
  func `comes from an origin of the server`(_ origin: String) throws {
    try expect(.wrongOrigin(origin)) { $0.clientData.origin = origin }
  }

  @Test func `does not come from an embedded page`() throws {
    try expect(.crossOrigin) { $0.clientData.others = #""crossOrigin":true"# }
    try expect(.embedded(topOrigin: "https://a.example")) {
      $0.clientData.others = #""crossOrigin":false,"topOrigin":"https://a.example""#
    }
  }

  @Test func `does not claim token binding`() throws {
    try expect(.tokenBinding) { $0.clientData.others = #""tokenBinding":{"status":"present","id":"x"}"# }
  }

  // MARK: Authenticator data

  @Test func `has an attestation object`() throws {
    try expect(.malformedAttestation(.truncated)) { $0.attestation = [] }
    try expect(.malformedAttestation(nil)) { $0.attestation = [0xA0] }
    try expect(.malformedAttestation(nil)) { $0.attestation = [0x80] }
    let members = [
      (CBORBytes.text("fmt"), CBORBytes.text("none")), (CBORBytes.text("attStmt"), CBORBytes.map([])),
      (CBORBytes.text("authData"), CBORBytes.bytes([])),
    ]
    for index in members.indices {
      try expect(.malformedAttestation(nil)) {
        var less = members
        less.remove(at: index)
        $0.attestation = CBORBytes.map(less)
      }
      try expect(.malformedAttestation(nil)) {
        var changed = members
        changed[index].1 = [0xF6]
        $0.attestation = CBORBytes.map(changed)
      }
    }
    try expect(.malformedAttestation(.trailingBytes)) { $0.attestation = CBORBytes.map(members) + [0] }
    try expect(.malformedAuthenticatorData(.truncated)) { $0.attestation = CBORBytes.map(members) }
  }

  @Test func `may have its members in any order`() throws {
    var draft = try SoftAuthenticator().registration()
    draft.attestation = CBORBytes.map([
      (CBORBytes.text("authData"), CBORBytes.bytes(draft.data.bytes)), (CBORBytes.text("fmt"), CBORBytes.text("none")),
      (CBORBytes.text("attStmt"), CBORBytes.map([])),
    ])
    #expect(throws: Never.self) { try Site.register(draft) }
  }

  @Test func `with the format none has an empty statement`() throws {
    try expect(.attestationNotEmpty) { $0.statement = CBORBytes.map([(CBORBytes.text("alg"), CBORBytes.integer(-7))]) }
  }

  @Test(arguments: ["packed", "tpm", "android-key", "apple", "fido-u2f", "None", "", "unheard-of"])
  func `with another format is accepted, and its statement is not trusted`(_ format: String) throws {
    var draft = try SoftAuthenticator().registration()
    draft.format = format
    draft.statement = CBORBytes.map([
      (CBORBytes.text("alg"), CBORBytes.integer(-7)), (CBORBytes.text("sig"), CBORBytes.bytes([1])),
      (CBORBytes.text("x5c"), CBORBytes.array([CBORBytes.bytes([UInt8](repeating: 0, count: 2000))])),
    ])
    let plain = try SoftAuthenticator().registration()
    #expect(try Site.register(draft).aaguid == Site.register(plain).aaguid)
  }

  @Test func `has well-formed authenticator data`() throws {
    try expect(.malformedAuthenticatorData(.trailingBytes)) { $0.data.rest = [0] }
    try expect(.malformedAuthenticatorData(.backedUpButNotEligible)) { $0.data.flags.insert(.backedUp) }
    try expect(.malformedAuthenticatorData(.invalidCredentialIDLength(1024))) {
      $0.data.id = [UInt8](repeating: 1, count: 1024)
    }
  }

  @Test func `may have extensions that were not requested`() throws {
    var draft = try SoftAuthenticator().registration()
    draft.data.flags.insert(.extensions)
    draft.data.rest = CBORBytes.map([(CBORBytes.text("hmac-secret"), [0xF5])])
    #expect(throws: Never.self) { try Site.register(draft) }
  }

  @Test func `is for this server`() throws {
    try expect(.wrongRelyingParty) { $0.data.rpID = "login.example.com" }
    try expect(.wrongRelyingParty) { $0.data.rpID = "" }
  }

  @Test func `needs a user who is there, and was recognized`() throws {
    try expect(.userNotPresent) { $0.data.flags.remove(.userPresent) }
    try expect(.userNotVerified) { $0.data.flags.remove(.userVerified) }
  }

  @Test func `has a new passkey`() throws {
    try expect(.missingCredential) { $0.data.flags.remove(.attestedCredential) }
  }

  @Test func `has a key that was asked for`() throws {
    try expect(.unusableKey(.unsupportedAlgorithm(-8))) {
      $0.data.key = CBORBytes.key([
        (1, CBORBytes.integer(1)), (3, CBORBytes.integer(-8)), (-1, CBORBytes.integer(6)),
        (-2, CBORBytes.bytes([UInt8](repeating: 1, count: 32))),
      ])
    }
    try expect(.unusableKey(.incomplete)) { $0.data.key = [0xA0] }
  }
}
#endif
