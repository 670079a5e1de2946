/// An email address as typed, and in the form by which two are compared: at the server, and where a command looks for the account
/// that an address means.
package struct AddressForms {
  /// In bytes (RFC 5321 section 4.5.3.1.3, less the angle brackets).
  package static let maxLength = 254

  package let typed: String
  package let normalized: String

  /// Returns `nil` if the text cannot be an address.
  package init?(_ text: String) {
    let typed = text.trimmed
    guard (3...AddressForms.maxLength).contains(typed.utf8.count), typed.isPrintable,
      !typed.unicodeScalars.contains(where: \.isUnseen), let at = typed.utf8.lastIndex(of: UInt8(ascii: "@")),
      at != typed.startIndex
    else { return nil }
    let (local, domain) = (AddressForms.unquoted(typed[..<at]), typed[typed.utf8.index(after: at)...])
    guard !domain.isEmpty else { return nil }
    let labels = domain.split(omittingEmptySubsequences: false) { ".\u{3002}".contains($0) }
    self.typed = local + "@" + labels.joined(separator: ".")
    normalized = local.lowercased() + "@" + labels.map { Punycode.label($0.lowercased()) }.joined(separator: ".")
  }

  /// The local part with the fewest quotes and backslashes that it can have.
  private static func unquoted(_ local: Substring) -> String {
    let quote = UInt8(ascii: "\"")
    guard local.utf8.count > 2, local.utf8.first == quote, local.utf8.last == quote else { return String(local) }
    var (text, isEscaped) = ("", false)
    for scalar in local.unicodeScalars.dropFirst().dropLast() {
      isEscaped = scalar == "\\" && !isEscaped
      if !isEscaped { text.unicodeScalars.append(scalar) }
    }
    let isAtoms = text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { part in
      !part.isEmpty && !part.unicodeScalars.contains { "()<>[]:;@\\,\"".unicodeScalars.contains($0) }
    }
    return isAtoms ? text : "\"" + text.map { "\"\\".contains($0) ? "\\\($0)" : "\($0)" }.joined() + "\""
  }
}
