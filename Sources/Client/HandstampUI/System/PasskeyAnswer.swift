import Foundation
package import HandstampCore
import HandstampSupport

/// The server's options that a system's sheet for a sign-in needs.
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

/// The server's options that a system's sheet for a new passkey needs.
package struct NewPasskeyQuestion: Sendable, Hashable {
  package let domain: String
  package let challenge: [UInt8]
  /// The user handle.
  package let user: [UInt8]
  package let userName: String
  /// The IDs of the account's passkeys: a device that has one of them makes no other.
  package let excluded: [[UInt8]]

  private struct Options: Decodable {
    struct Party: Decodable { var id: String }
    struct User: Decodable {
      var id: String
      var name: String
    }
    struct Descriptor: Decodable { var id: String }
    var challenge: String
    var rp: Party
    var user: User
    var excludeCredentials: [Descriptor]?
  }

  /// - Throws: ``SessionError/invalidResponse(_:)``.
  package init(options: [UInt8]) throws(SessionError) {
    guard let read = try? JSONDecoder().decode(Options.self, from: Data(options)),
      let challenge = Base64URL.decode(read.challenge), let user = Base64URL.decode(read.user.id)
    else { throw .invalidResponse("no options for a new passkey") }
    domain = read.rp.id
    self.challenge = challenge
    self.user = user
    userName = read.user.name
    excluded = (read.excludeCredentials ?? []).compactMap { Base64URL.decode($0.id) }
  }
}

extension PasskeySignal {
  /// The signal after a sign-in that was refused because no account has the passkey.
  package init?(unknownIn answer: [UInt8], to options: [UInt8]) {
    struct Answer: Decodable { var id: String }
    guard let question = try? PasskeyQuestion(options: options),
      let answer = try? JSONDecoder().decode(Answer.self, from: Data(answer))
    else { return nil }
    self = .unknown(id: answer.id, domain: question.domain)
  }
}

/// The result of a system's sheet, as browsers write it.
package struct PasskeyAnswer: Sendable, Hashable {
  package let json: [UInt8]

  /// `RegistrationResponseJSON`. Without transports, which the system does not name: clients then try all.
  package init(id: [UInt8], clientData: [UInt8], attestation: [UInt8]) {
    self.init(id, [("clientDataJSON", clientData), ("attestationObject", attestation)])
  }

  /// `AuthenticationResponseJSON`.
  package init(
    id: [UInt8], clientData: [UInt8], authenticatorData: [UInt8], signature: [UInt8], userHandle: [UInt8]
  ) {
    self.init(
      id,
      [
        ("clientDataJSON", clientData), ("authenticatorData", authenticatorData), ("signature", signature),
        ("userHandle", userHandle),
      ])
  }

  private init(_ id: [UInt8], _ response: [(name: String, bytes: [UInt8])]) {
    let id = Base64URL.encode(id)
    let members = response.map { "\"\($0.name)\":\"\(Base64URL.encode($0.bytes))\"" }.joined(separator: ",")
    let text = """
      {"id":"\(id)","rawId":"\(id)","type":"public-key","clientExtensionResults":{},"response":{\(members)}}
      """
    json = Array(text.utf8)
  }
}
