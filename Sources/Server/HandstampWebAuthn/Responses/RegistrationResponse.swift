#if JOSE
import HandstampSupport

/// `RegistrationResponseJSON` (WebAuthn Level 3 section 5.1.8.1), read but not verified.
package struct RegistrationResponse: Sendable, Hashable {
  /// Maximum number of transports; the standard has seven.
  package static let mostTransports = 16

  let credential: PublicKeyCredentialJSON
  let attestation: AttestationObject
  let authenticatorData: AuthenticatorData
  let transports: [String]

  /// Reads JSON text.
  ///
  /// - Throws: a ``PasskeyError`` if a part of the response is not well-formed.
  package init(_ json: [UInt8]) throws(PasskeyError) {
    credential = try PublicKeyCredentialJSON(json)
    attestation = try AttestationObject(try credential.bytes(of: "attestationObject"))
    do { authenticatorData = try AuthenticatorData(attestation.authenticatorData) } catch {
      throw .malformedAuthenticatorData(error)
    }
    transports = try RegistrationResponse.transports(credential["transports"])
  }

  /// The challenge that the client claims to have answered, to look up what it was made for. Nothing is verified yet. `nil` if
  /// it cannot be one of this server's.
  package var claimedChallenge: PasskeyChallenge? { credential.claimedChallenge }

  /// Reads the transports: unknown ones are kept, for clients that know them (section 5.8.4).
  private static func transports(_ member: JSONValue?) throws(PasskeyError) -> [String] {
    switch member {
    case nil, .null: return []
    case .array(let values):
      let words = values.compactMap(\.string)
      guard words.count == values.count, words.count <= mostTransports, words.allSatisfy(isWord) else {
        throw .malformedTransports
      }
      return words
    default: throw .malformedTransports
    }
  }

  private static func isWord(_ text: String) -> Bool {
    (1...32).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}
#endif
