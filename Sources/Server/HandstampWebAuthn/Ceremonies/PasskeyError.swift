#if JOSE
/// The check that a passkey's response failed. Sections are those of WebAuthn Level 2, or of Level 3 where it says so; "7.1/7" is
/// step 7 of section 7.1.
///
/// A new ceremony helps after ``wrongChallenge``, which is also what a late answer gets. After ``userNotVerified`` and
/// ``unusableKey(_:)`` another authenticator does. ``wrongOrigin(_:)`` and ``wrongRelyingParty`` are mostly a server's settings.
/// The others are faults of a client, or attacks.
package enum PasskeyError: Error, Sendable, Hashable {
  // MARK: The response

  /// The response is longer than ``PublicKeyCredentialJSON/longest``.
  case responseTooLong
  /// The response is not JSON, or this member is missing or not of its type, such as `response.signature` (Level 3 section 5.1).
  /// The empty text stands for the whole.
  case malformedResponse(member: String)
  /// `type` is not `public-key` (5.8.2).
  case wrongCredentialType
  /// `id` is not the base64url of `rawId` (5.1).
  case contradictoryID
  /// `transports` has more than ``RegistrationResponse/mostTransports`` entries, or one that is not a short ASCII word (5.2.1).
  case malformedTransports

  // MARK: Client data

  /// `clientDataJSON` is not JSON, or a member is missing or not of its type (7.1/5-6, 7.2/9-10).
  case malformedClientData
  /// `type` is not the one of the ceremony (7.1/7, 7.2/11).
  case wrongCeremony
  /// `challenge` is not the expected one (7.1/8, 7.2/12).
  case wrongChallenge
  /// `origin`, which is attached, is not one of ``RelyingParty/origins`` (7.1/9, 7.2/13).
  case wrongOrigin(String)
  /// The page was embedded in one of another origin (Level 3 sections 7.1 and 7.2, `crossOrigin`).
  case crossOrigin
  /// The client data names an embedding page (Level 3 sections 7.1 and 7.2, `topOrigin`).
  case embedded(topOrigin: String)
  /// The client data claims a connection with token binding, which this server's never have (7.1/10, 7.2/14).
  case tokenBinding

  // MARK: Authenticator data

  /// The attestation object is not CBOR, or, without a reason, lacks a member (7.1/12).
  case malformedAttestation(CBORError?)
  /// The format is `none`, and the statement is not empty (8.7).
  case attestationNotEmpty
  /// The authenticator data are not well-formed (6.1, 7.1/12, 7.2/8).
  case malformedAuthenticatorData(AuthenticatorData.FormatError)
  /// The authenticator data are for another RP ID (7.1/13, 7.2/15).
  case wrongRelyingParty
  /// UP is not set (7.1/14, 7.2/16).
  case userNotPresent
  /// UV is not set; this server always requires it (7.1/15, 7.2/17).
  case userNotVerified

  // MARK: Registration

  /// AT is not set: there is no new passkey (6.1).
  case missingCredential
  /// The ID in the authenticator data is not the response's (5.1).
  case contradictoryCredentialID
  /// The public key is not one of the algorithms that were offered, or not a valid one (7.1/16).
  case unusableKey(COSEKey.FormatError)

  // MARK: Assertion

  /// The passkey is not one of those that the options allowed (7.2/5).
  case notAllowed
  /// The passkey belongs to another user than the one who is signing in (7.2/6).
  case wrongUser
  /// There is no user handle, and the user was not known before (7.2/6).
  case missingUserHandle
  /// The user handle is not that of the passkey's user (7.2/6).
  case wrongUserHandle
  /// The response is of another passkey than the one it was compared with (7.2/7).
  case wrongPasskey
  /// AT is set, which is for registrations alone (6.1).
  case unexpectedCredential
  /// BE is not as it was when the passkey was registered (Level 3 sections 6.1.3 and 7.2).
  case backupEligibilityChanged
  /// The signature does not verify (7.2/20).
  case wrongSignature
}
#endif
