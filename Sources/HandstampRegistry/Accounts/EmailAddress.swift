/// An email address, as typed and in the form used for comparison.
public struct EmailAddress: Sendable, Hashable {
  /// The longest address that mail can be sent to, in bytes (RFC 5321 section 4.5.3.1.3, less the angle brackets).
  public static let maxLength = 254

  /// The address that mail is sent to, with surrounding spaces removed.
  public let typed: String
  /// The address in lower case. Unique among accounts.
  public let normalized: String

  /// Returns `nil` if the text cannot be an address: no `@`, nothing before or after the last one, spaces or control
  /// characters inside, or more than 254 bytes. Only a confirmed mail shows that an address exists.
  public init?(_ text: String) {
    let typed = text.trimmingSpaces()
    guard (3...EmailAddress.maxLength).contains(typed.utf8.count) else { return nil }
    guard let at = typed.lastIndex(of: "@"), at != typed.startIndex, typed.index(after: at) != typed.endIndex
    else { return nil }
    let hasSpace = typed.unicodeScalars.contains { $0.properties.isWhitespace || $0.value < 32 || $0.value == 127 }
    guard !hasSpace else { return nil }
    self.typed = typed
    normalized = typed.lowercased()
  }

  /// Restores a stored address, without validating it again.
  public init(stored typed: String, normalized: String) {
    self.typed = typed
    self.normalized = normalized
  }
}

extension String {
  fileprivate func trimmingSpaces() -> String {
    var text = self[...]
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
