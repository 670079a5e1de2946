#if Server
import HTTPTypes
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport

extension JSONFields {
  /// A display name: 1 to 200 characters, without control characters.
  func name(_ name: String) throws(ProblemError) -> String {
    let text = try text(name)
    guard text.isDisplayName else {
      throw .invalidRequest("\(name): must be 1 to 200 characters, without control characters.")
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

  /// A client's description of its device. Shown to the account's owner and not trusted.
  func device() throws(ProblemError) -> DeviceInfo {
    let fields = try object("device")
    return DeviceInfo(
      id: DeviceID(try fields.name("id")), name: try fields.name("name"), platform: try fields.name("platform"))
  }

  func email() throws(ProblemError) -> EmailAddress { try valid(EmailAddress(printable: try text("email"))) }
  func newEmail() throws(ProblemError) -> EmailAddress { try valid(EmailAddress(new: try text("email"))) }

  private func valid(_ address: EmailAddress?) throws(ProblemError) -> EmailAddress {
    guard let address else { throw .invalidRequest("email: not a valid email address.") }
    return address
  }
}

extension EmailAddress {
  /// Returns `nil` also if the text has control or other invisible characters.
  init?(printable text: String) {
    guard text.isPrintable else { return nil }
    self.init(composed: text)
  }

  /// An address in Unicode's normalization form C: without it, one address could be two accounts (RFC 6532 section 3.1).
  init?(composed text: String) {
    // Normalizing takes time that is quadratic in the number of combining characters.
    guard text.utf8.count <= 1024 else { return nil }
    self.init(text.precomposedStringWithCanonicalMapping)
  }

  /// The address that an account gets. Those that accounts have from before are found by ``init(printable:)``.
  init?(new text: String) {
    self.init(printable: text)
    guard isOneSpelling else { return nil }
  }

  /// Whether no other address is the same mailbox: one `@` outside quotes (RFC 5321 section 4.1.2), no empty part of the domain, and no
  /// characters in it that UTS 46 maps to others, such as full-width letters.
  var isOneSpelling: Bool {
    guard let at = normalized.utf8.lastIndex(of: UInt8(ascii: "@")) else { return false }
    let (local, domain) = (normalized[..<at], String(normalized.utf8[at...].dropFirst()) ?? "")
    let isQuoted = local.utf8.count > 2 && local.hasPrefix("\"") && local.hasSuffix("\"")
    return (isQuoted || !local.utf8.contains(UInt8(ascii: "@")))
      && !domain.split(separator: ".", omittingEmptySubsequences: false).contains(where: \.isEmpty)
      && domain.precomposedStringWithCompatibilityMapping == domain
      && !domain.unicodeScalars.contains { ["\u{3002}", "\u{FF0E}", "\u{FF61}"].contains($0) }
  }
}
#endif
