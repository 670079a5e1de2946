#if JOSE
import HandstampSupport

/// `AuthenticationResponseJSON` (WebAuthn Level 3 section 5.1.8.2), read but not verified.
package struct AssertionResponse: Sendable, Hashable {
  let credential: PublicKeyCredentialJSON
  let authenticatorData: AuthenticatorData
  /// The bytes that were signed.
  let authenticatorDataBytes: [UInt8]
  let signature: [UInt8]
  /// Of any length; `nil` if there is none.
  let userHandle: [UInt8]?

  /// Reads JSON text.
  ///
  /// - Throws: a ``PasskeyError`` if a part of the response is not well-formed.
  package init(_ json: [UInt8]) throws(PasskeyError) {
    credential = try PublicKeyCredentialJSON(json)
    authenticatorDataBytes = try credential.bytes(of: "authenticatorData")
    do { authenticatorData = try AuthenticatorData(authenticatorDataBytes[...]) } catch {
      throw .malformedAuthenticatorData(error)
    }
    signature = try credential.bytes(of: "signature")
    switch credential["userHandle"] {
    // Libraries that are older than `toJSON()` write null.
    case nil, .null: userHandle = nil
    default: userHandle = try credential.bytes(of: "userHandle")
    }
  }

  /// Whether the authenticator says that the passkey may be copied. It is signed, and nothing is verified yet.
  package var isBackupEligible: Bool { authenticatorData.flags.contains(.backupEligible) }

  /// The passkey that the client claims to have used, to look it up. Nothing is verified yet.
  package var credentialID: CredentialID { credential.id }

  /// The challenge that the client claims to have answered, to look up what it was made for. Nothing is verified yet. `nil` if
  /// it cannot be one of this server's.
  package var claimedChallenge: PasskeyChallenge? { credential.claimedChallenge }
}
#endif
