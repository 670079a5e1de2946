#if JOSE
import Crypto
import HandstampSupport

/// A server that users sign in to with passkeys (WebAuthn Level 2 section 4, _Relying Party_).
package struct RelyingParty: Sendable, Hashable {
  /// The reason why values are not a relying party.
  package enum ConfigurationError: Error, Sendable, Hashable {
    /// The ID is not a domain in lower case, without scheme and port; addresses such as 127.0.0.1 are none.
    case invalidID(String)
    /// There are no origins.
    case noOrigin
    /// A text is not an origin as browsers write it, such as `https://example.com` or `http://localhost:8080`: in lower case,
    /// without a slash at the end, and without the usual port.
    case invalidOrigin(String)
    /// The origin is neither `https`, nor `http` on this machine. Browsers have no passkeys there.
    case insecureOrigin(String)
    /// The origin's host is neither the ID nor below it. Browsers refuse such a ceremony (section 5.1.3 step 8).
    case foreignOrigin(String)
  }

  /// The RP ID: the domain that passkeys belong to, such as `example.com`. Another ID makes all passkeys useless.
  package let id: String
  /// The name for people. Browsers hardly show it.
  package let name: String
  /// The origins whose pages may run ceremonies, and those of apps. Compared as texts, since that is how browsers write them.
  package let origins: Set<String>

  /// - Parameter apps: the origins of apps on systems that name an app otherwise than by the domain, such as
  ///   `android:apk-key-hash:…`.
  package init(
    id: String, name: String, origins: Set<String>, apps: Set<String> = []
  ) throws(ConfigurationError) {
    guard RelyingParty.isDomain(id) else { throw .invalidID(id) }
    guard !origins.isEmpty else { throw .noOrigin }
    for text in origins.sorted() {
      guard let origin = Origin(text), origin.text == text else { throw .invalidOrigin(text) }
      guard origin.isTrustworthy else { throw .insecureOrigin(text) }
      // One label, such as `com`, is no domain that a site below it may use.
      guard origin.host == id || id.contains(".") && origin.host.hasSuffix(".\(id)") else { throw .foreignOrigin(text) }
    }
    self.id = id
    self.name = name
    self.origins = origins.union(apps)
  }

  private static func isDomain(_ text: String) -> Bool {
    let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard text.utf8.count <= 253, let last = labels.last else { return false }
    // A last label of digits is an address to browsers.
    return !last.allSatisfy { isDigit($0) }
      && labels.allSatisfy { label in
        (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
          && label.allSatisfy { isDigit($0) || isLetter($0) || $0 == UInt8(ascii: "-") }
      }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
  private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

  /// The value that authenticators sign instead of the ID.
  var idHash: [UInt8] { Array(SHA256.hash(data: Array(id.utf8))) }
}
#endif
