#if JOSE
/// The record that a server keeps of a passkey (_credential record_, WebAuthn Level 3 section 4). Nothing in it is secret.
package struct Passkey: Sendable, Hashable {
  package let id: CredentialID
  /// Stored as its ``COSEKey/bytes``.
  package let publicKey: COSEKey
  /// The account that it signs in to.
  package let userHandle: UserHandle
  /// The latest value of the authenticator's signature counter. Passkeys that are synchronized have none, and send 0.
  package var signCount: UInt32
  /// Whether the passkey may be copied to other devices. Never changes.
  package let isBackupEligible: Bool
  /// Whether it was copied at its latest use.
  package var isBackedUp: Bool
  /// How clients reach the authenticator, such as `internal` and `hybrid`; a hint for them (WebAuthn Level 2 section 5.8.4).
  package let transports: [String]
  /// The authenticator's model, 16 bytes: a claim that was not verified, good for showing a name. All zeros if it is not known.
  package let aaguid: [UInt8]

  package init(
    id: CredentialID, publicKey: COSEKey, userHandle: UserHandle, signCount: UInt32, isBackupEligible: Bool,
    isBackedUp: Bool, transports: [String] = [], aaguid: [UInt8] = [UInt8](repeating: 0, count: 16)
  ) {
    self.id = id
    self.publicKey = publicKey
    self.userHandle = userHandle
    self.signCount = signCount
    self.isBackupEligible = isBackupEligible
    self.isBackedUp = isBackedUp
    self.transports = transports
    self.aaguid = aaguid
  }
}
#endif
