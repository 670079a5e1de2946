#if JOSE
import Crypto
import HandstampSupport

/// The user who signs in with a passkey, as far as the server knows before the ceremony (WebAuthn Level 2 section 7.2 step 6).
package enum AssertionUser: Sendable, Hashable {
  /// The response tells: it must contain a user handle.
  case unknown
  /// A user who has signed in, and confirms it.
  ///
  /// - Parameter allowed: the IDs in the options; empty if the options had none, and any passkey of this user will do.
  case known(UserHandle, allowed: Set<CredentialID>)
}

/// The result of an assertion whose signature is valid.
package enum AssertionOutcome: Sendable, Hashable {
  /// The user has signed in. The passkey, with its new counter and backup state, is to be stored.
  case verified(Passkey)
  /// The signature is valid, but the counter did not go up: two authenticators may have the private key (section 6.1.1). Or two
  /// responses came in the wrong order. Whether the user has signed in is for the caller to decide.
  ///
  /// - Parameters:
  ///   - passkey: with its new backup state, and the counter that was stored.
  ///   - received: the response's counter.
  case clonedAuthenticator(Passkey, received: UInt32)
}

extension RelyingParty {
  /// Verifies that the user of a passkey signs in (WebAuthn Level 2 section 7.2).
  ///
  /// The caller must not let a challenge be used again, and stores the passkey of the outcome only if the counter in the store is
  /// still that of `passkey`: of two responses at the same time, the second is compared with the first.
  ///
  /// - Parameters:
  ///   - challenge: the one of the options, which this browser got.
  ///   - passkey: the stored one with the response's ``AssertionResponse/credentialID`` (step 7).
  ///   - user: what is known of who signs in. The default is signing in without a name.
  /// - Throws: the check that failed.
  package func verifyAssertion(
    _ response: AssertionResponse, challenge: PasskeyChallenge, passkey: Passkey, user: AssertionUser = .unknown
  ) throws(PasskeyError) -> AssertionOutcome {
    // Steps 5 to 7. Steps 1 to 4 are the browser's.
    try check(response, is: passkey, of: user)
    // Steps 9 to 14. Step 8 was done in reading the response.
    try check(response.credential.clientData, of: .get, challenge: challenge)
    // Steps 15 to 17. Step 18: see AuthenticatorData.
    let data = response.authenticatorData
    try check(data)
    guard data.attested == nil else { throw .unexpectedCredential }
    // Level 3. Registered as copied or not, the passkey is another one if that changes.
    guard data.flags.contains(.backupEligible) == passkey.isBackupEligible else { throw .backupEligibilityChanged }
    // Steps 19 and 20.
    let hash = Array(SHA256.hash(data: response.credential.clientDataBytes))
    guard passkey.publicKey.isSignature(response.signature, of: response.authenticatorDataBytes + hash) else {
      throw .wrongSignature
    }
    // Step 21.
    var used = passkey
    used.isBackedUp = data.flags.contains(.backedUp)
    guard data.signCount > passkey.signCount || (data.signCount == 0 && passkey.signCount == 0) else {
      return .clonedAuthenticator(used, received: data.signCount)
    }
    used.signCount = data.signCount
    return .verified(used)
  }

  /// Checks whose passkey it is (section 7.2 steps 5 to 7).
  private func check(
    _ response: AssertionResponse, is passkey: Passkey, of user: AssertionUser
  ) throws(PasskeyError) {
    guard response.credentialID == passkey.id else { throw .wrongPasskey }
    switch user {
    case .unknown:
      guard response.userHandle != nil else { throw .missingUserHandle }
    case .known(let handle, let allowed):
      guard allowed.isEmpty || allowed.contains(passkey.id) else { throw .notAllowed }
      guard passkey.userHandle == handle else { throw .wrongUser }
    }
    guard response.userHandle == nil || response.userHandle == passkey.userHandle.bytes else { throw .wrongUserHandle }
  }
}
#endif
