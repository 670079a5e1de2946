import Foundation
import HandstampCore

/// A passphrase as bytes, prepared as in RFC 8265, section 4.2 (OpaqueString), so that different keyboards and systems
/// yield the same bytes. Spaces of any kind become U+0020, the form is NFC, and case is significant.
///
/// One deviation: characters unknown to the running system are accepted, because a system that did not know them when
/// the passphrase was set may know them later.
enum PassphraseText {
  /// The minimum length required by NIST SP 800-63B.
  static let minimum = 8
  static let maximum = 1024

  /// Passes the bytes to `use`, then wipes them. Intermediate strings are left to the system.
  static func withBytes<Result>(
    of secret: Secret, _ use: (borrowing [UInt8]) throws(PassphraseError) -> Result
  ) throws(PassphraseError) -> Result {
    var bytes = secret.withExposed { Array(normalized($0).utf8) }
    defer { wipe(&bytes) }
    return try use(bytes)
  }

  /// Checks a new passphrase. Throws ``PassphraseError/unusable`` or ``PassphraseError/tooShort(minimum:)``.
  static func check(_ secret: Secret) throws(PassphraseError) {
    let text = secret.withExposed { normalized($0) }
    guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }),
      text.utf8.count <= maximum
    else { throw .unusable }
    // Characters as a human being counts them.
    guard text.count >= minimum else { throw .tooShort(minimum: minimum) }
  }

  static func normalized(_ text: String) -> String {
    var spaced = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      spaced.append(scalar.properties.generalCategory == .spaceSeparator ? " " : scalar)
    }
    return String(spaced).precomposedStringWithCanonicalMapping
  }
}
