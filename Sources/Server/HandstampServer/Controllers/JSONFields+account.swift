#if Server
import HTTPTypes
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport

extension JSONFields {
  /// A display name: 1 to 200 characters, without control characters, and not of blanks alone.
  func name(_ name: String) throws(ProblemError) -> String {
    let text = try text(name)
    guard text.isDisplayName else {
      throw .invalidRequest("\(name): must be 1 to 200 characters, without control characters, and not blank.")
    }
    return text
  }

  /// The key with which a request that begins a session can be repeated: 16 bytes in base64url. `nil` if there is none.
  func rotationKey() throws(ProblemError) -> RotationKey? {
    guard let text = try optionalText("rotation_key") else { return nil }
    guard let key = RotationKey(wireText: text) else {
      throw .invalidRequest("rotation_key: must be 16 bytes in base64url.")
    }
    return key
  }

  /// How the client keeps a session that the request begins: `remember` is `false` if it stores nothing.
  func persistence() throws(ProblemError) -> SessionPersistence {
    guard contains("remember") else { return .persistent }
    return try flag("remember") ? .persistent : .ephemeral
  }

  /// A client's description of its device. Shown to the account's owner and not trusted.
  func device() throws(ProblemError) -> DeviceInfo {
    let fields = try object("device")
    return DeviceInfo(
      id: DeviceID(try fields.label("id")), name: try fields.label("name"), platform: try fields.label("platform"))
  }

  /// A name that may be of blanks alone: the platform is shown in its place.
  private func label(_ name: String) throws(ProblemError) -> String {
    let text = try text(name)
    guard text.isLabel else {
      throw .invalidRequest("\(name): must be 1 to 200 characters, without control characters.")
    }
    return text
  }

  func email() throws(ProblemError) -> EmailAddress { try valid(EmailAddress(composed: try text("email"))) }
  func newEmail() throws(ProblemError) -> EmailAddress { try valid(EmailAddress(new: try text("email"))) }

  private func valid(_ address: EmailAddress?) throws(ProblemError) -> EmailAddress {
    guard let address else { throw .invalidRequest("email: not a valid email address.") }
    return address
  }
}

extension EmailAddress {
  /// An address as it was typed or sent, in Unicode's normalization form KC: full-width letters are those of ASCII.
  package init?(composed text: String) {
    // Normalizing takes time that is quadratic in the number of combining characters.
    guard text.utf8.count <= 1024 else { return nil }
    self.init(text.precomposedStringWithCompatibilityMapping)
  }

  /// The address that an account gets: with one `@` outside quotes (RFC 5321 section 4.1.2), and no empty part of the domain. Others,
  /// which a program may have stored that embeds the server, are found by ``init(composed:)``.
  init?(new text: String) {
    self.init(composed: text)
    let parts = normalized.split(separator: "@", omittingEmptySubsequences: false)
    let isQuoted = normalized.hasPrefix("\"") && parts.dropLast().last?.hasSuffix("\"") == true
    guard parts.count == 2 || isQuoted, let domain = parts.last,
      !domain.split(separator: ".", omittingEmptySubsequences: false).contains(where: \.isEmpty)
    else { return nil }
  }

  /// An address that somebody else has verified. It has to be spelled as here: another spelling may be another mailbox there.
  init?(verified text: String) {
    self.init(new: text)
    // Swift's `==` takes a Kelvin sign for a K.
    guard typed.utf8.elementsEqual(text.utf8) else { return nil }
  }

  /// The key of a text that may be an address.
  package static func key(of text: String) -> String { EmailAddress(composed: text)?.normalized ?? text.lowercased() }
}
#endif
