import HandstampSupport

/// An email address, as typed and in the form used for comparison.
public struct EmailAddress: Sendable, Hashable {
  /// The longest address that mail can be sent to, in bytes (RFC 5321 section 4.5.3.1.3, less the angle brackets).
  public static let maxLength = 254

  /// The address that mail is sent to, without blanks around it, and without quotes that it does not need (RFC 5321 section 4.1.2).
  public let typed: String
  /// The key of the address, unique among accounts: ``typed`` in lower case, with the domain in A-labels (RFC 5890 section 2.3.2.1).
  public let normalized: String

  /// Returns `nil` if the text cannot be an address: no `@`, nothing before or after the last one, spaces, control characters or
  /// others that are not seen inside, or more than 254 bytes. Only a confirmed mail shows that an address exists.
  ///
  /// - Parameter text: in Unicode's normalization form KC, without which one address could be two accounts (RFC 6532 section 3.1).
  public init?(_ text: String) {
    let typed = text.trimmed
    guard (3...EmailAddress.maxLength).contains(typed.utf8.count), typed.isPrintable,
      !typed.unicodeScalars.contains(where: \.isUnseen), let at = typed.utf8.lastIndex(of: UInt8(ascii: "@")),
      at != typed.startIndex
    else { return nil }
    let (local, domain) = (EmailAddress.unquoted(typed[..<at]), typed[typed.utf8.index(after: at)...])
    guard !domain.isEmpty else { return nil }
    let labels = domain.split(omittingEmptySubsequences: false) { ".\u{3002}".contains($0) }
    self.typed = local + "@" + labels.joined(separator: ".")
    normalized = local.lowercased() + "@" + labels.map { Punycode.label($0.lowercased()) }.joined(separator: ".")
  }

  /// Restores a stored address, without validating it again.
  public init(stored typed: String, normalized: String) {
    self.typed = typed
    self.normalized = normalized
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
