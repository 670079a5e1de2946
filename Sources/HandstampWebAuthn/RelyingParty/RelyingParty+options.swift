#if JOSE
import HandstampSupport

extension RelyingParty {
  /// The time that users have for a ceremony: the recommendation where user verification is required (WebAuthn Level 2 section
  /// 15.1). Browsers may change it.
  package static let usualTimeout = Duration.seconds(300)
  /// Longer timeouts are cut to it, and the numbers stay small.
  private static let longestTimeout = Duration.seconds(3600)

  /// Returns the options of a registration as `PublicKeyCredentialCreationOptionsJSON` (WebAuthn Level 3 section 5.1.9), for
  /// `PublicKeyCredential.parseCreationOptionsFromJSON()`.
  ///
  /// The passkey is discoverable, so that users need not type a name, and user verification is required: a passkey is two factors.
  /// No attestation is asked for: it would tell the authenticator's model, and ask users for consent.
  ///
  /// - Parameter excluded: the user's passkeys. Authenticators that have one of them refuse to make another.
  package func registrationOptions(
    for user: PasskeyUser, challenge: PasskeyChallenge, excluding excluded: [Passkey] = [],
    timeout: Duration = RelyingParty.usualTimeout
  ) -> [UInt8] {
    let object = OptionsText.object([
      ("rp", .object([("id", .text(id)), ("name", .text(name))])),
      (
        "user",
        .object([
          ("id", .text(user.handle.text)), ("name", .text(user.name)), ("displayName", .text(user.displayName)),
        ])
      ),
      ("challenge", .text(challenge.text)),
      (
        "pubKeyCredParams",
        .array(COSEAlgorithm.allCases.map { .object([("type", .text("public-key")), ("alg", .integer($0.rawValue))]) })
      ),
      ("timeout", .integer(RelyingParty.milliseconds(timeout))),
      ("excludeCredentials", .array(excluded.map { OptionsText(descriptor: $0) })),
      (
        "authenticatorSelection",
        .object([
          // The second is for clients of Level 1 (section 5.4.4).
          ("residentKey", .text("required")), ("requireResidentKey", .bool(true)),
          ("userVerification", .text("required")),
        ])
      ),
      ("attestation", .text("none")),
    ])
    return object.json
  }

  /// Returns the options of an assertion as `PublicKeyCredentialRequestOptionsJSON` (WebAuthn Level 3 section 5.1.10), for
  /// `PublicKeyCredential.parseRequestOptionsFromJSON()`.
  ///
  /// - Parameter allowed: the passkeys to choose from, of a user who is known already. Without any, the authenticator offers all that
  ///   it has for this server, and tells which user has signed in.
  package func assertionOptions(
    challenge: PasskeyChallenge, allowing allowed: [Passkey] = [], timeout: Duration = RelyingParty.usualTimeout
  ) -> [UInt8] {
    let object = OptionsText.object([
      ("challenge", .text(challenge.text)),
      ("timeout", .integer(RelyingParty.milliseconds(timeout))),
      ("rpId", .text(id)),
      ("allowCredentials", .array(allowed.map { OptionsText(descriptor: $0) })),
      ("userVerification", .text("required")),
    ])
    return object.json
  }

  private static func milliseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = min(max(duration, .zero), longestTimeout).components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }
}
#endif
