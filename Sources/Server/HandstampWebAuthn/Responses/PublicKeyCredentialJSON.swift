#if JOSE
import HandstampSupport

/// The common members of `RegistrationResponseJSON` and `AuthenticationResponseJSON` (WebAuthn Level 3 section 5.1). It is what
/// `PublicKeyCredential.toJSON()` makes.
///
/// Members that only repeat what an authenticator has signed, such as `publicKey`, are ignored, and so are the outputs of
/// extensions, none of which was asked for.
package struct PublicKeyCredentialJSON: Sendable, Hashable {
  /// Maximum size of a response, in bytes. The longest have attestations of several certificates: about 20 KiB.
  package static let longest = 64 * 1024

  let id: CredentialID
  let clientData: CollectedClientData
  /// The SHA-256 hash of the client data is over these.
  let clientDataBytes: [UInt8]
  private let response: JSONValue

  init(_ bytes: [UInt8]) throws(PasskeyError) {
    guard bytes.count <= PublicKeyCredentialJSON.longest else { throw .responseTooLong }
    guard let json = JSONValue(bytes) else { throw .malformedResponse(member: "") }
    guard let type = json["type"]?.string else { throw .malformedResponse(member: "type") }
    guard type == "public-key" else { throw .wrongCredentialType }
    guard let rawID = json["rawId"]?.string, let id = CredentialID(text: rawID) else {
      throw .malformedResponse(member: "rawId")
    }
    guard let text = json["id"]?.string else { throw .malformedResponse(member: "id") }
    guard text == rawID else { throw .contradictoryID }
    guard let response = json["response"], case .object = response else {
      throw .malformedResponse(member: "response")
    }
    self.id = id
    self.response = response
    clientDataBytes = try PublicKeyCredentialJSON.bytes(of: "clientDataJSON", in: response)
    guard let clientData = CollectedClientData(clientDataBytes) else { throw .malformedClientData }
    self.clientData = clientData
  }

  subscript(name: String) -> JSONValue? { response[name] }

  func bytes(of name: String) throws(PasskeyError) -> [UInt8] {
    try PublicKeyCredentialJSON.bytes(of: name, in: response)
  }

  private static func bytes(of name: String, in response: JSONValue) throws(PasskeyError) -> [UInt8] {
    guard let bytes = response[name]?.string.flatMap({ Base64URL.decode($0) }) else {
      throw .malformedResponse(member: "response.\(name)")
    }
    return bytes
  }

  /// The challenge that the client claims to have answered; `nil` if it cannot be one of this server's.
  var claimedChallenge: PasskeyChallenge? { Base64URL.decode(clientData.challenge).flatMap { PasskeyChallenge($0) } }
}
#endif
