/// The strength of a proof: a value of the claim `acr` that other programs know as well. A proof with one factor has none: each
/// name of that promises more about passwords than a server can know.
///
/// | proof | context |
/// |---|---|
/// | password, recovery code, another provider | none |
/// | password and one-time password | `https://refeds.org/profile/mfa` |
/// | passkey | `phr`, which includes the other |
///
/// Never `phrh`: without attestation, a key in hardware is only the authenticator's word.
public enum AuthenticationContext: String, Sendable, Hashable, CaseIterable, Codable, Comparable {
  /// Two factors (REFEDS MFA Profile 1.2).
  case multiFactor = "https://refeds.org/profile/mfa"
  /// A proof that a user cannot give away to another site (OpenID Connect Extended Authentication Profile ACR Values 1.0).
  case phishingResistant = "phr"

  /// The weaker one first.
  public static func < (left: AuthenticationContext, right: AuthenticationContext) -> Bool {
    left == .multiFactor && right == .phishingResistant
  }

  /// Reads `acr_values`. Leaves out values that this server does not know (OpenID Connect Core 1.0 section 3.1.2.1).
  ///
  /// - Returns: the weakest, which any of the others includes; `nil` without a known one.
  public static func weakest(in values: String?) -> AuthenticationContext? {
    (values ?? "").split(separator: " ").compactMap { AuthenticationContext(rawValue: String($0)) }.min()
  }
}

extension AuthenticationMethods {
  /// The strongest context that the methods amount to. The word of another provider amounts to none: this server has not seen the proof.
  public var context: AuthenticationContext? {
    guard !all.contains(.federated), all.contains(.multiFactor) else { return nil }
    return all.contains(.hardwareKey) || all.contains(.softwareKey) ? .phishingResistant : .multiFactor
  }

  /// The claim `acr`: the context that the client has asked for, or the strongest.
  public var contextReference: String? { context.map { min($0, asked ?? $0).rawValue } }

  /// Returns whether the methods amount to a context, or to a stronger one; any do to `nil`.
  public func amount(to context: AuthenticationContext?) -> Bool {
    guard let context else { return true }
    return self.context.map { $0 >= context } ?? false
  }
}
