#if JOSE
/// The statement of an authenticator about itself and the user, which it signs (WebAuthn Level 2 section 6.1).
package struct AuthenticatorData: Sendable, Hashable {
  /// The reason why bytes are not authenticator data.
  package enum FormatError: Error, Sendable, Hashable {
    /// The bytes end within a part of fixed or announced length.
    case truncated
    /// There are bytes after the last part that the flags announce.
    case trailingBytes
    /// The length of the credential ID is not one of ``CredentialID/sizes`` (WebAuthn Level 3 section 7.1).
    case invalidCredentialIDLength(Int)
    /// The public key is not CBOR (section 6.5.1).
    case malformedKey(CBORError)
    /// The extensions are not CBOR (section 9.5).
    case malformedExtensions(CBORError)
    /// The extensions are CBOR, but no map (section 9.5).
    case extensionsNotMap
    /// The passkey is backed up, but may not be (WebAuthn Level 3 section 6.1.3).
    case backedUpButNotEligible
  }

  /// The SHA-256 hash of the RP ID, 32 bytes.
  let rpIDHash: [UInt8]
  let flags: AuthenticatorFlags
  let signCount: UInt32
  /// The new passkey; there is one in registrations.
  let attested: AttestedCredential?

  /// Reads all of `bytes`. Extensions are read and forgotten: none was asked for, and unsolicited ones may be ignored (section
  /// 7.1 step 17, section 7.2 step 18).
  init(_ bytes: ArraySlice<UInt8>) throws(FormatError) {
    var rest = bytes
    func take(_ count: Int) throws(FormatError) -> ArraySlice<UInt8> {
      guard count <= rest.count else { throw .truncated }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }
    rpIDHash = Array(try take(32))
    flags = AuthenticatorFlags(rawValue: try take(1).reduce(0, |))
    signCount = try take(4).reduce(0) { $0 << 8 | UInt32($1) }
    if flags.contains(.attestedCredential) {
      let aaguid = Array(try take(16))
      let count = try take(2).reduce(0) { $0 << 8 | Int($1) }
      guard CredentialID.sizes.contains(count), let id = CredentialID(Array(try take(count))) else {
        throw .invalidCredentialIDLength(count)
      }
      let key = try AuthenticatorData.item(&rest, orThrow: { .malformedKey($0) })
      attested = AttestedCredential(aaguid: aaguid, id: id, publicKey: Array(key.bytes))
    } else {
      attested = nil
    }
    if flags.contains(.extensions) {
      guard try AuthenticatorData.item(&rest, orThrow: { .malformedExtensions($0) }).value.map != nil else {
        throw .extensionsNotMap
      }
    }
    guard rest.isEmpty else { throw .trailingBytes }
    guard flags.contains(.backupEligible) || !flags.contains(.backedUp) else { throw .backedUpButNotEligible }
  }

  /// Takes one item of CBOR, whose length only its content tells.
  private static func item(
    _ rest: inout ArraySlice<UInt8>, orThrow fault: (CBORError) -> FormatError
  ) throws(FormatError) -> (value: CBORValue, bytes: ArraySlice<UInt8>) {
    var reader = CBORReader(rest)
    let value: CBORValue
    do { value = try reader.value() } catch { throw fault(error) }
    defer { rest = reader.rest }
    return (value, rest.prefix(rest.count - reader.rest.count))
  }
}

/// The flags of authenticator data (section 6.1). Those that are reserved are ignored, as the standard's next version may use them.
struct AuthenticatorFlags: OptionSet, Sendable, Hashable {
  let rawValue: UInt8

  /// UP: the user did something, such as touching the authenticator.
  static let userPresent = AuthenticatorFlags(rawValue: 1 << 0)
  /// UV: the authenticator recognized its user, by a PIN or a fingerprint.
  static let userVerified = AuthenticatorFlags(rawValue: 1 << 2)
  /// BE: the passkey may be copied to other devices (WebAuthn Level 3 section 6.1.3).
  static let backupEligible = AuthenticatorFlags(rawValue: 1 << 3)
  /// BS: the passkey is copied (WebAuthn Level 3 section 6.1.3).
  static let backedUp = AuthenticatorFlags(rawValue: 1 << 4)
  /// AT: the data contains an ``AttestedCredential``.
  static let attestedCredential = AuthenticatorFlags(rawValue: 1 << 6)
  /// ED: the data contains extensions.
  static let extensions = AuthenticatorFlags(rawValue: 1 << 7)
}

/// A new passkey in authenticator data (section 6.5.1).
struct AttestedCredential: Sendable, Hashable {
  /// The model of the authenticator, 16 bytes.
  let aaguid: [UInt8]
  let id: CredentialID
  /// A data item of CBOR, as received.
  let publicKey: [UInt8]
}
#endif
