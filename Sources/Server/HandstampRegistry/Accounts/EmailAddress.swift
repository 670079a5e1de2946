import HandstampSupport

/// An email address, as typed and in the form used for comparison.
public struct EmailAddress: Sendable, Hashable {
  /// The longest address that mail can be sent to, in bytes (RFC 5321 section 4.5.3.1.3, less the angle brackets).
  public static let maxLength = AddressForms.maxLength

  /// The address that mail is sent to, without blanks around it, and without quotes that it does not need (RFC 5321 section 4.1.2).
  public let typed: String
  /// The key of the address, unique among accounts: ``typed`` in lower case, with the domain in A-labels (RFC 5890 section 2.3.2.1).
  public let normalized: String

  /// Returns `nil` if the text cannot be an address: no `@`, nothing before or after the last one, spaces, control characters or
  /// others that are not seen inside, or more than 254 bytes. Only a confirmed mail shows that an address exists.
  ///
  /// - Parameter text: in Unicode's normalization form KC, without which one address could be two accounts (RFC 6532 section 3.1).
  public init?(_ text: String) {
    guard let forms = AddressForms(text) else { return nil }
    (typed, normalized) = (forms.typed, forms.normalized)
  }

  /// Restores a stored address, without validating it again.
  public init(stored typed: String, normalized: String) {
    self.typed = typed
    self.normalized = normalized
  }
}
