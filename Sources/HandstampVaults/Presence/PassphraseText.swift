import Foundation
import HandstampCore

/// A passphrase as bytes: after the rules of RFC 8265, section 4.2 (OpaqueString), so that what one keyboard or system types
/// is what another one typed. Spaces of any kind become U+0020, the form is NFC; letter case counts.
///
/// Not after the letter of it: characters that the running system does not know are not refused, because one that did not
/// know them when the passphrase was set may know them later.
enum PassphraseText {
  /// What NIST SP 800-63B asks for at least.
  static let minimum = 8
  static let maximum = 1024

  /// Hands the bytes to `use` and wipes them. The texts on the way stay where the system put them.
  static func withBytes<Result>(
    of secret: Secret, _ use: (borrowing [UInt8]) throws(PassphraseError) -> Result
  ) throws(PassphraseError) -> Result {
    var bytes = secret.withExposed { Array(normalised($0).utf8) }
    defer { wipe(&bytes) }
    return try use(bytes)
  }

  /// Says why a text will not do for a new passphrase.
  static func check(_ secret: Secret) throws(PassphraseError) {
    let text = secret.withExposed { normalised($0) }
    guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }),
      text.utf8.count <= maximum
    else { throw .unusable }
    // Characters as a person counts them.
    guard text.count >= minimum else { throw .tooShort(minimum: minimum) }
  }

  static func normalised(_ text: String) -> String {
    var spaced = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      spaced.append(scalar.properties.generalCategory == .spaceSeparator ? " " : scalar)
    }
    return String(spaced).precomposedStringWithCanonicalMapping
  }
}
