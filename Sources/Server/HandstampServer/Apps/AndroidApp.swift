#if Server
import HandstampSupport

/// An app of the operator on Android: its package, and a certificate that signs it. An app with several certificates is several of
/// these, such as one that Google Play signs and its developers sign as well.
public struct AndroidApp: Sendable, Hashable {
  /// Such as `org.example.forum`.
  public let package: String
  /// The SHA-256 of the certificate.
  let certificate: [UInt8]

  /// Parses `org.example.forum=14:6D:E9:…`, with the fingerprint as `keytool -list -v` prints it; `nil` for any other text.
  public init?(_ text: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].utf8.count(where: { $0 == UInt8(ascii: ":") }) == 31,
      let certificate = Hexadecimal.bytes(parts[1].utf8.filter { $0 != UInt8(ascii: ":") }), certificate.count == 32
    else { return nil }
    let names = parts[0].utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard names.count > 1,
      names.allSatisfy({ name in
        name.first?.isLetter == true && name.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "_") }
      })
    else { return nil }
    (package, self.certificate) = (String(parts[0]), certificate)
  }

  /// As documents write it: two capital digits per byte, separated by colons.
  package var fingerprint: String {
    certificate.map { Hexadecimal.text([$0]).uppercased() }.joined(separator: ":")
  }

  /// The origin in the answers of passkeys (Credential Manager; WebAuthn Level 2 section 5.8.1 leaves it to the platform).
  var origin: String { "android:apk-key-hash:" + Base64URL.encode(certificate) }
}
#endif
