import Foundation
public import HandstampCore
import HandstampSupport

/// Asks the user of the device for a passkey.
public protocol PasskeySource: Sendable {
  /// Returns the device's answer. A cancelled task closes the sheet and throws ``SessionError/cancelled``.
  ///
  /// - Parameter options: `PublicKeyCredentialRequestOptionsJSON` (WebAuthn Level 3 section 5.1.10).
  /// - Returns: `AuthenticationResponseJSON` (section 5.1.8.2).
  @concurrent func answer(to options: [UInt8]) async throws(SessionError) -> [UInt8]
}

/// The server's options that a system's sheet needs.
package struct PasskeyQuestion: Sendable, Hashable {
  package let domain: String
  package let challenge: [UInt8]
  /// The IDs of the passkeys to choose from; empty for any.
  package let allowed: [[UInt8]]

  private struct Options: Decodable {
    struct Descriptor: Decodable { var id: String }
    var challenge: String
    var rpId: String
    var allowCredentials: [Descriptor]?
  }

  /// - Throws: ``SessionError/invalidResponse(_:)``.
  package init(options: [UInt8]) throws(SessionError) {
    guard let read = try? JSONDecoder().decode(Options.self, from: Data(options)),
      let challenge = Base64URL.decode(read.challenge)
    else { throw .invalidResponse("no options for a passkey") }
    domain = read.rpId
    self.challenge = challenge
    allowed = (read.allowCredentials ?? []).compactMap { Base64URL.decode($0.id) }
  }
}

/// The result of a system's sheet.
package struct PasskeyAnswer: Sendable, Hashable {
  package var id: [UInt8]
  package var clientData: [UInt8]
  package var authenticatorData: [UInt8]
  package var signature: [UInt8]
  package var userHandle: [UInt8]

  package init(
    id: [UInt8], clientData: [UInt8], authenticatorData: [UInt8], signature: [UInt8], userHandle: [UInt8]
  ) {
    self.id = id
    self.clientData = clientData
    self.authenticatorData = authenticatorData
    self.signature = signature
    self.userHandle = userHandle
  }

  /// `AuthenticationResponseJSON`.
  package var json: [UInt8] {
    let id = Base64URL.encode(id)
    let text = """
      {"id":"\(id)","rawId":"\(id)","type":"public-key","clientExtensionResults":{},"response":{\
      "clientDataJSON":"\(Base64URL.encode(clientData))",\
      "authenticatorData":"\(Base64URL.encode(authenticatorData))",\
      "signature":"\(Base64URL.encode(signature))","userHandle":"\(Base64URL.encode(userHandle))"}}
      """
    return Array(text.utf8)
  }
}
