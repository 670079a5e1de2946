#if JOSE
import Crypto
import Testing

@testable import HandstampWebAuthn

@Suite(.timeLimit(.minutes(10))) struct `Authenticator data` {
  private func draft(_ flags: AuthenticatorFlags = [.userPresent, .attestedCredential]) throws -> AuthenticatorDataDraft
  {
    AuthenticatorDataDraft(
      rpID: "example.com", flags: flags, signCount: 0x0102_0304, id: [1, 2, 3], key: try SoftKey(.es256).cose)
  }

  private func expect(
    _ fault: AuthenticatorData.FormatError, _ bytes: [UInt8], at location: SourceLocation = #_sourceLocation
  ) {
    #expect(throws: fault, sourceLocation: location) { try AuthenticatorData(bytes[...]) }
  }

  private let extensions = CBORBytes.map([(CBORBytes.text("credProtect"), CBORBytes.integer(2))])

  @Test func `is read as it was written`() throws {
    let draft = try draft()
    let data = try AuthenticatorData(draft.bytes[...])
    #expect(data.rpIDHash == Array(SHA256.hash(data: Array("example.com".utf8))))
    #expect(data.flags == draft.flags)
    #expect(data.signCount == 0x0102_0304)
    #expect(data.attested?.aaguid == draft.aaguid)
    #expect(data.attested?.id == CredentialID([1, 2, 3]))
    #expect(data.attested?.publicKey == draft.key)
  }

  @Test func `is read from the middle of other bytes`() throws {
    let bytes = try draft().bytes
    let longer = [1, 2, 3] + bytes + [4]
    #expect(try AuthenticatorData(longer.dropFirst(3).dropLast()) == AuthenticatorData(bytes[...]))
  }

  @Test func `may end after the counter, and after extensions`() throws {
    var draft = try draft([.userPresent])
    #expect(draft.bytes.count == 37)
    #expect(try AuthenticatorData(draft.bytes[...]).attested == nil)
    draft.flags.insert(.extensions)
    draft.rest = extensions
    #expect(try AuthenticatorData(draft.bytes[...]).attested == nil)
    draft.flags.insert(.attestedCredential)
    // The extensions are no part of the key.
    #expect(try AuthenticatorData(draft.bytes[...]).attested?.publicKey == draft.key)
  }

  @Test func `that ends early is refused`() throws {
    var draft = try draft()
    draft.flags.insert(.extensions)
    draft.rest = extensions
    let bytes = draft.bytes
    for count in 0..<bytes.count {
      let fault = #expect(throws: AuthenticatorData.FormatError.self) { try AuthenticatorData(bytes.prefix(count)) }
      switch fault {
      case .truncated, .malformedKey(.truncated), .malformedExtensions(.truncated): break
      default: Issue.record("\(String(describing: fault))")
      }
    }
  }

  @Test func `with bytes that no flag announces is refused`() throws {
    for flags in [[.userPresent], [.userPresent, .attestedCredential]] as [AuthenticatorFlags] {
      var draft = try draft(flags)
      draft.rest = extensions
      expect(.trailingBytes, draft.bytes)
      draft.flags.insert(.extensions)
      draft.rest += [0]
      expect(.trailingBytes, draft.bytes)
    }
  }

  @Test func `has a credential ID of 1 to 1023 bytes`() throws {
    var draft = try draft()
    for count in [1, 16, 255, 256, 1023] {
      draft.id = [UInt8](repeating: 5, count: count)
      #expect(try AuthenticatorData(draft.bytes[...]).attested?.id == CredentialID(draft.id))
    }
    for count in [0, 1024, 65_535] {
      draft.id = [UInt8](repeating: 5, count: count)
      expect(.invalidCredentialIDLength(count), draft.bytes)
    }
  }

  @Test func `has a key that is CBOR`() throws {
    var draft = try draft()
    draft.key = [0xFF]
    expect(.malformedKey(.indefiniteLength), draft.bytes)
  }

  @Test func `has extensions that are a map`() throws {
    var draft = try draft([.userPresent, .extensions])
    draft.rest = [0xA1, 0x61, 0x61]
    expect(.malformedExtensions(.truncated), draft.bytes)
    draft.rest = [0x80]
    expect(.extensionsNotMap, draft.bytes)
  }

  @Test func `is not backed up without being eligible for it`() throws {
    expect(.backedUpButNotEligible, try draft([.userPresent, .backedUp]).bytes)
    for flags in [[.backupEligible], [.backupEligible, .backedUp]] as [AuthenticatorFlags] {
      #expect(try AuthenticatorData(draft(flags).bytes[...]).flags == flags)
    }
  }

  @Test func `may have reserved flags`() throws {
    let flags = AuthenticatorFlags(rawValue: 0b0010_0011)
    #expect(try AuthenticatorData(draft(flags).bytes[...]).flags == flags)
  }
}
#endif
