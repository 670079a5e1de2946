#if Verifier
import HandstampCore

/// How, and how recently, the user of a token must have proved to be the account's owner (RFC 9470). A client whose token falls short
/// gets 401 `insufficient_user_authentication`, asks its user, and repeats the request.
///
/// ```swift
/// let payment = AuthenticationRule(acr: ["phr"], maxAge: .seconds(300))
/// let identity = try await verifier.authenticate(request, requiring: ["pay"], payment)
/// ```
public struct AuthenticationRule: Sendable, Hashable {
  /// Requires nothing.
  public static let any = AuthenticationRule()
  /// Two factors (REFEDS MFA Profile 1.2).
  public static let multiFactor = "https://refeds.org/profile/mfa"
  /// A proof that no user can give away to another site, such as a passkey (OpenID Connect EAP ACR Values 1.0).
  public static let phishingResistant = "phr"

  /// The accepted values of the claim `acr`, of which the token needs one. Where ``multiFactor`` is accepted,
  /// ``phishingResistant`` is, too: a passkey is two factors. Empty accepts any token, also one without the claim.
  public var acr: [String]
  /// Maximum time since `auth_time`, from zero, in whole seconds; ``VerifierConfiguration/leeway`` is added. `nil` for any.
  public var maxAge: Duration?

  public init(acr: [String] = [], maxAge: Duration? = nil) {
    self.acr = acr
    self.maxAge = maxAge.map { max($0, .zero) }
  }

  /// Returns whether a token's proof is good enough at `now`. One that does not say when it was made is not recent.
  func isMet(by identity: TokenIdentity, at now: UnixTime, leeway: Duration) -> Bool {
    let isStrong =
      acr.isEmpty
      || identity.acr.map {
        acr.contains($0)
          || $0 == AuthenticationRule.phishingResistant && acr.contains(AuthenticationRule.multiFactor)
      } ?? false
    guard let maxAge else { return isStrong }
    return isStrong && identity.authenticatedAt.map { now.since($0) <= maxAge + leeway } ?? false
  }
}
#endif
