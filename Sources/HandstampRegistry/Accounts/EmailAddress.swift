/// An address for mail, as it was typed and as it is compared.
public struct EmailAddress: Sendable, Hashable {
  /// The longest address that mail can be sent to, in bytes (RFC 5321 section 4.5.3.1.3, less the angle brackets).
  public static let maxLength = 254

  /// Where mail goes, spaces at both ends removed.
  public let typed: String
  /// Letter case aside. Two accounts never have the same.
  public let normalised: String

  /// Nothing for a text that cannot be an address: no `@`, nothing before or after the last one, spaces or control
  /// characters inside, or more than 254 bytes. Only a mail that is answered shows that an address exists.
  public init?(_ text: String) {
    let typed = text.trimmingSpaces()
    guard (3...EmailAddress.maxLength).contains(typed.utf8.count) else { return nil }
    guard let at = typed.lastIndex(of: "@"), at != typed.startIndex, typed.index(after: at) != typed.endIndex
    else { return nil }
    let hasSpace = typed.unicodeScalars.contains { $0.properties.isWhitespace || $0.value < 32 || $0.value == 127 }
    guard !hasSpace else { return nil }
    self.typed = typed
    normalised = typed.lowercased()
  }

  /// What a store kept. Not checked again.
  public init(stored typed: String, normalised: String) {
    self.typed = typed
    self.normalised = normalised
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
