#if Server
import HandstampSupport

/// A client ID that is the URL of the client's metadata document (OAuth Client ID Metadata Document, draft 02 section 3).
///
/// Stricter than the draft: all parsers have to read the same host in it, because the connection is pinned to that host's address.
struct ClientURL: Sendable, Hashable {
  let text: String
  /// The name that users see.
  let host: String

  /// Returns `nil` for any other ID, and for a host that is an IP address or has a single label.
  init?(_ text: String) {
    guard text.utf8.count <= 200, let url = WebURL(text), url.origin.scheme == "https", url.query == nil,
      // Writes the host in lower case and leaves out the usual port.
      text.hasPrefix(url.origin.text + "/"), text.utf8.count == url.origin.text.utf8.count + url.path.utf8.count
    else { return nil }
    let labels = url.origin.host.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.count > 1, labels.allSatisfy(ClientURL.isLabel), labels.last?.first?.isLetter == true,
      url.path.utf8.allSatisfy({ $0.isUnreserved || "/%-._~!$&'()*+,;=:@".utf8.contains($0) }),
      !url.path.split(separator: "/").contains(where: ClientURL.isDots)
    else { return nil }
    self.text = text
    host = url.origin.host
  }

  private static func isLabel(_ label: Substring) -> Bool {
    (1...63).contains(label.utf8.count) && label.utf8.allSatisfy(\.isOfName)
  }

  private static func isDots(_ part: Substring) -> Bool {
    [".", ".."].contains(part.lowercased().replacing("%2e", with: "."))
  }
}

extension UInt8 {
  /// Whether it is a lower-case letter, a digit or `-`.
  var isOfName: Bool { (97...122).contains(self) || (48...57).contains(self) || self == UInt8(ascii: "-") }
}
#endif
