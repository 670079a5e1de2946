#if JOSE
import Testing

@testable import HandstampWebAuthn

/// Section 7.2 of WebAuthn Level 2, one test for each step.
@Suite(.timeLimit(.minutes(10))) struct `An assertion` {
  private func expect(
    _ error: PasskeyError, user: AssertionUser = .unknown, at location: SourceLocation = #_sourceLocation,
    _ change: (inout AssertionDraft) throws -> Void
  ) throws {
    let authenticator = try SoftAuthenticator()
    let passkey = try authenticator.passkey()
    var draft = authenticator.assertion()
    // The only reason why it fails is the change.
    #expect(throws: Never.self, sourceLocation: location) { try Site.signIn(draft, passkey) }
    try change(&draft)
    #expect(throws: error, sourceLocation: location) { try Site.signIn(draft, passkey, user: user) }
  }

  private func handle(_ byte: UInt8) throws -> UserHandle {
    try #require(UserHandle([UInt8](repeating: byte, count: 32)))
  }

  @Test(arguments: COSEAlgorithm.allCases)
  func `signs in, and gives the passkey as it is now`(_ algorithm: COSEAlgorithm) throws {
    let authenticator = try SoftAuthenticator(algorithm)
    let passkey = try authenticator.passkey()
    var expected = passkey
    expected.signCount = 2
    #expect(try Site.signIn(authenticator.assertion(), passkey) == .verified(expected))
  }

  @Test(arguments: COSEAlgorithm.allCases)
  func `follows a registration`(_ algorithm: COSEAlgorithm) throws {
    let authenticator = try SoftAuthenticator(algorithm)
    let passkey = try Site.register(try authenticator.registration())
    let response = try AssertionResponse(try authenticator.assertion().json)
    #expect(response.credentialID == passkey.id)
    #expect(response.claimedChallenge == Site.challenge(1))
    guard case .verified(let used) = try Site.signIn(authenticator.assertion(), passkey) else {
      Issue.record("not verified")
      return
    }
    #expect(used.signCount == 2)
    #expect(used.transports == passkey.transports)
    #expect(used.aaguid == passkey.aaguid)
  }

  @Test func `tells whether the passkey is backed up now`() throws {
    let authenticator = try SoftAuthenticator()
    var passkey = try authenticator.passkey(isBackupEligible: true)
    var draft = authenticator.assertion()
    draft.data.flags.formUnion([.backupEligible, .backedUp])
    guard case .verified(let used) = try Site.signIn(draft, passkey) else {
      Issue.record("not verified")
      return
    }
    #expect(used.isBackedUp)
    passkey.isBackedUp = true
    draft.data.flags.remove(.backedUp)
    guard case .verified(let alone) = try Site.signIn(draft, passkey) else {
      Issue.record("not verified")
      return
    }
    #expect(!alone.isBackedUp)
  }

  // MARK: The response

  @Test func `has all members`() throws {
    for name in ["clientDataJSON", "authenticatorData", "signature"] {
      try expect(.malformedResponse(member: "response.\(name)")) { $0.envelope.without = [name] }
    }
    try expect(.malformedResponse(member: "response.userHandle")) {
      $0.userHandle = nil
      $0.others = #""userHandle":1"#
    }
    try expect(.contradictoryID) { $0.envelope.id = "\"AQ\"" }
    try expect(.wrongCredentialType) { $0.envelope.type = "" }
  }

  // MARK: Whose passkey it is

  @Test func `is of the passkey that it is compared with`() throws {
    try expect(.wrongPasskey) { $0.id = [1] }
  }

  @Test func `is of a passkey that was allowed`() throws {
    let authenticator = try SoftAuthenticator()
    let (passkey, draft) = (try authenticator.passkey(), authenticator.assertion())
    let (user, other) = (try handle(7), try #require(CredentialID([1])))
    for allowed in [[], [passkey.id], [other, passkey.id]] as [Set<CredentialID>] {
      #expect(throws: Never.self) { try Site.signIn(draft, passkey, user: .known(user, allowed: allowed)) }
    }
    #expect(throws: PasskeyError.notAllowed) {
      try Site.signIn(draft, passkey, user: .known(user, allowed: [other]))
    }
  }

  @Test func `is of a passkey of the known user`() throws {
    try expect(.wrongUser, user: .known(try handle(8), allowed: [])) { _ in }
    // Without a user handle as well.
    try expect(.wrongUser, user: .known(try handle(8), allowed: [])) { $0.userHandle = nil }
  }

  @Test func `has a user handle, if the user is not known`() throws {
    try expect(.missingUserHandle) { $0.userHandle = nil }
    try expect(.missingUserHandle) {
      $0.userHandle = nil
      $0.others = #""userHandle":null"#
    }
  }

  @Test func `need not have a user handle, if the user is known`() throws {
    let authenticator = try SoftAuthenticator()
    var draft = authenticator.assertion()
    draft.userHandle = nil
    #expect(throws: Never.self) {
      try Site.signIn(draft, try authenticator.passkey(), user: .known(try handle(7), allowed: []))
    }
  }

  @Test(arguments: [[UInt8](repeating: 8, count: 32), [], [7], [UInt8](repeating: 7, count: 33)])
  func `has the user handle of the passkey's user`(_ userHandle: [UInt8]) throws {
    try expect(.wrongUserHandle) { $0.userHandle = userHandle }
    try expect(.wrongUserHandle, user: .known(try handle(7), allowed: [])) { $0.userHandle = userHandle }
  }

  // MARK: Client data

  @Test func `has client data`() throws {
    try expect(.malformedClientData) { $0.clientData.origin = nil }
  }

  @Test func `is no registration`() throws {
    try expect(.wrongCeremony) { $0.clientData.type = "webauthn.create" }
    try expect(.wrongCeremony) { $0.clientData.type = "payment.get" }
  }

  @Test func `answers the challenge`() throws {
    try expect(.wrongChallenge) { $0.clientData.challenge = Site.challenge(2).text }
  }

  @Test func `comes from an app of the server`() throws {
    let app = "android:apk-key-hash:AAAA"
    let (authenticator, site) = (try SoftAuthenticator(), Site(origin: app))
    for (apps, isAccepted) in [([app], true), (["android:apk-key-hash:AAAB"], false)] as [(Set<String>, Bool)] {
      let party = try RelyingParty(id: "example.com", name: "x", origins: ["https://example.com"], apps: apps)
      let answer = try AssertionResponse(try authenticator.assertion(at: site).json)
      let outcome = try? party.verifyAssertion(
        answer, challenge: site.challenge, passkey: try authenticator.passkey(), user: .unknown)
      #expect((outcome != nil) == isAccepted)
    }
  }

  @Test func `comes from an origin of the server`() throws {
    try expect(.wrongOrigin("https://evil.example")) { $0.clientData.origin = "https://evil.example" }
  }

  @Test func `does not come from an embedded page`() throws {
    try expect(.crossOrigin) { $0.clientData.others = #""crossOrigin":true"# }
    try expect(.embedded(topOrigin: "https://a.example")) {
      $0.clientData.others = #""topOrigin":"https://a.example""#
    }
  }

  @Test func `does not claim token binding`() throws {
    try expect(.tokenBinding) { $0.clientData.others = #""tokenBinding":{"status":"present","id":"x"}"# }
  }

  // MARK: Authenticator data

  @Test func `has well-formed authenticator data`() throws {
    try expect(.malformedAuthenticatorData(.trailingBytes)) { $0.data.rest = [0] }
    try expect(.malformedAuthenticatorData(.backedUpButNotEligible)) { $0.data.flags.insert(.backedUp) }
  }

  @Test func `is for this server`() throws {
    try expect(.wrongRelyingParty) { $0.data.rpID = "evil.example" }
  }

  @Test func `needs a user who is there, and was recognized`() throws {
    try expect(.userNotPresent) { $0.data.flags.remove(.userPresent) }
    try expect(.userNotVerified) { $0.data.flags.remove(.userVerified) }
  }

  @Test func `has no new passkey`() throws {
    try expect(.unexpectedCredential) {
      $0.data.flags.insert(.attestedCredential)
      $0.data.id = $0.id
      $0.data.key = try $0.key.cose
    }
  }

  @Test func `may have extensions that were not requested`() throws {
    let authenticator = try SoftAuthenticator()
    var draft = authenticator.assertion()
    draft.data.flags.insert(.extensions)
    draft.data.rest = CBORBytes.map([(CBORBytes.text("uvm"), [0x80])])
    #expect(throws: Never.self) { try Site.signIn(draft, try authenticator.passkey()) }
  }

  @Test func `is as eligible for backup as the registration was`() throws {
    try expect(.backupEligibilityChanged) { $0.data.flags.insert(.backupEligible) }
    let authenticator = try SoftAuthenticator()
    #expect(throws: PasskeyError.backupEligibilityChanged) {
      try Site.signIn(authenticator.assertion(), try authenticator.passkey(isBackupEligible: true))
    }
  }

  // MARK: Signature and counter

  @Test(arguments: COSEAlgorithm.allCases)
  func `is signed by the passkey`(_ algorithm: COSEAlgorithm) throws {
    let authenticator = try SoftAuthenticator(algorithm)
    let passkey = try authenticator.passkey()
    let good = authenticator.assertion()
    let signature = try good.key.signature(of: good.message)
    var draft = good
    draft.signature = signature
    #expect(throws: Never.self) { try Site.signIn(draft, passkey) }
    // Every part of what is signed counts, also those that no other check looks at.
    draft.clientData.others += #","x":1"#
    #expect(throws: PasskeyError.wrongSignature) { try Site.signIn(draft, passkey) }
    draft = good
    draft.signature = signature
    draft.data.signCount = 3
    #expect(throws: PasskeyError.wrongSignature) { try Site.signIn(draft, passkey) }
    // Without the hash, or with the client data themselves.
    for message in [good.data.bytes, good.data.bytes + good.clientData.bytes, []] {
      draft = good
      draft.signature = try good.key.signature(of: message)
      #expect(throws: PasskeyError.wrongSignature) { try Site.signIn(draft, passkey) }
    }
    draft.signature = []
    #expect(throws: PasskeyError.wrongSignature) { try Site.signIn(draft, passkey) }
  }

  @Test func `is not signed by another key`() throws {
    try expect(.wrongSignature) { $0.key = try SoftKey(.es256) }
    try expect(.wrongSignature) { $0.key = try SoftKey(.rs256) }
  }

  @Test(arguments: [(0, 0), (0, 1), (1, 2), (1, .max), (.max - 1, .max)] as [(UInt32, UInt32)])
  func `has a counter that goes up, or none`(stored: UInt32, received: UInt32) throws {
    let authenticator = try SoftAuthenticator()
    var draft = authenticator.assertion()
    draft.data.signCount = received
    var expected = try authenticator.passkey(signCount: stored)
    let outcome = try Site.signIn(draft, expected)
    expected.signCount = received
    #expect(outcome == .verified(expected))
  }

  @Test(arguments: [(1, 0), (1, 1), (2, 1), (.max, 0), (.max, .max)] as [(UInt32, UInt32)])
  func `whose counter does not go up is a sign of a clone`(stored: UInt32, received: UInt32) throws {
    let authenticator = try SoftAuthenticator()
    var draft = authenticator.assertion()
    draft.data.flags.formUnion([.backupEligible, .backedUp])
    draft.data.signCount = received
    var passkey = try authenticator.passkey(signCount: stored, isBackupEligible: true)
    let outcome = try Site.signIn(draft, passkey)
    passkey.isBackedUp = true
    #expect(outcome == .clonedAuthenticator(passkey, received: received))
    // Only a valid signature is one.
    draft.signature = [1]
    #expect(throws: PasskeyError.wrongSignature) { try Site.signIn(draft, passkey) }
  }
}
#endif
