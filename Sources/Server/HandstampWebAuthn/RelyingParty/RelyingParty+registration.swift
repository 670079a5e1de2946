#if JOSE
import Crypto
import HandstampSupport

extension RelyingParty {
  /// Verifies that an authenticator has made a passkey for this server (WebAuthn Level 2 section 7.1), and returns it to be stored.
  ///
  /// Two steps are left to the caller. The challenge must not be used again. And the store must refuse an ID that it has already,
  /// of any user (step 22): adopting it would let one user's passkey sign in to another's account.
  ///
  /// - Parameters:
  ///   - challenge: the one of the options, which this user's browser got.
  ///   - user: the one whose handle was in the options.
  /// - Throws: the check that failed.
  package func verifyRegistration(
    _ response: RegistrationResponse, challenge: PasskeyChallenge, user: UserHandle
  ) throws(PasskeyError) -> Passkey {
    // Steps 5 to 10. Steps 1 to 4 are the browser's.
    try check(response.credential.clientData, of: .create, challenge: challenge)
    // Steps 13 to 15. Step 12 was done in reading the response; there is no use for step 11, the hash, without a statement.
    let data = response.authenticatorData
    try check(data)
    guard let attested = data.attested else { throw .missingCredential }
    guard attested.id == response.credential.id else { throw .contradictoryCredentialID }
    // Step 16: the algorithms that this program knows are those of the options. Step 17: see AuthenticatorData.
    let key: COSEKey
    do { key = try COSEKey(attested.publicKey) } catch { throw .unusableKey(error) }
    // Steps 18 to 21 and 24: see AttestationObject.
    guard response.attestation.format != "none" || response.attestation.statementIsEmpty else {
      throw .attestationNotEmpty
    }
    // Step 23.
    return Passkey(
      id: attested.id, publicKey: key, userHandle: user, signCount: data.signCount,
      isBackupEligible: data.flags.contains(.backupEligible), isBackedUp: data.flags.contains(.backedUp),
      transports: response.transports, aaguid: attested.aaguid)
  }

  /// Checks what the client says of the ceremony (section 7.1 steps 7 to 10, section 7.2 steps 11 to 14).
  ///
  /// The comparisons need not take constant time: the sender of a response knows all that it is compared with.
  func check(
    _ clientData: CollectedClientData, of kind: CollectedClientData.Kind, challenge: PasskeyChallenge
  ) throws(PasskeyError) {
    guard clientData.type == kind.rawValue else { throw .wrongCeremony }
    guard clientData.challenge == challenge.text else { throw .wrongChallenge }
    guard origins.contains(clientData.origin) else { throw .wrongOrigin(clientData.origin) }
    // This server's pages are not embedded in others' (Level 3): a page around it could mislead the user.
    guard !clientData.crossOrigin else { throw .crossOrigin }
    if let topOrigin = clientData.topOrigin { throw .embedded(topOrigin: topOrigin) }
    guard !clientData.usesTokenBinding else { throw .tokenBinding }
  }

  /// Checks where and how the authenticator was used (section 7.1 steps 13 to 15, section 7.2 steps 15 to 17).
  func check(_ data: AuthenticatorData) throws(PasskeyError) {
    guard data.rpIDHash == idHash else { throw .wrongRelyingParty }
    guard data.flags.contains(.userPresent) else { throw .userNotPresent }
    guard data.flags.contains(.userVerified) else { throw .userNotVerified }
  }
}
#endif
