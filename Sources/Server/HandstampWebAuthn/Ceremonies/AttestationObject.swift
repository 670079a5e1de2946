#if JOSE
/// An authenticator's answer to a registration (WebAuthn Level 2 section 6.5): authenticator data, and a statement about where
/// they come from.
///
/// Only the shape of the statement is checked. This program asks for `none`; then browsers replace the statement of an
/// authenticator with an empty one, but for self attestations (section 5.1.3), and some clients send others regardless.
/// A statement that is verified without trust anchors says no more than none does (section 7.1 step 24 lets such a passkey be
/// registered "as one with self attestation"), and a self attestation only shows that the sender has the private key, which
/// the first sign-in shows as well. So verifying gains nothing, and would add X.509 and TPM structures from the network to
/// the code that strangers reach. Refusing would keep out users whose client is less private than it was asked to be: Yubico's
/// python-fido2 ignores statements for that reason, "as not all clients strip the attestation".
struct AttestationObject: Sendable, Hashable {
  /// The identifier of the statement's format.
  let format: String
  let statementIsEmpty: Bool
  let authenticatorData: ArraySlice<UInt8>

  /// Reads all of `bytes`.
  ///
  /// - Throws: ``PasskeyError/malformedAttestation(_:)``.
  init(_ bytes: [UInt8]) throws(PasskeyError) {
    let object: CBORValue
    do { object = try CBORValue(bytes[...]) } catch { throw .malformedAttestation(error) }
    guard let format = object["fmt"]?.text, let statement = object["attStmt"]?.map,
      let data = object["authData"]?.bytes
    else { throw .malformedAttestation(nil) }
    self.format = format
    statementIsEmpty = statement.isEmpty
    authenticatorData = data
  }
}
#endif
