#if JOSE
package import HandstampSupport

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
  ) -> JSONText {
    // The second is for clients of Level 1 (section 5.4.4).
    var selection = JSONText([("residentKey", "required")])
    selection.add("requireResidentKey", true)
    selection.add("userVerification", "required")
    var options = JSONText()
    options.add("rp", JSONText([("id", id), ("name", name)]))
    options.add(
      "user", JSONText([("id", user.handle.text), ("name", user.name), ("displayName", user.displayName)]))
    options.add("challenge", challenge.text)
    options.add(
      "pubKeyCredParams",
      COSEAlgorithm.allCases.map { algorithm in
        var parameters = JSONText([("type", "public-key")])
        parameters.add("alg", algorithm.rawValue)
        return parameters
      })
    options.add("timeout", RelyingParty.milliseconds(timeout))
    options.add("excludeCredentials", excluded.map(\.descriptor))
    options.add("authenticatorSelection", selection)
    options.add("attestation", "none")
    return options
  }

  /// Returns the options of an assertion as `PublicKeyCredentialRequestOptionsJSON` (WebAuthn Level 3 section 5.1.10), for
  /// `PublicKeyCredential.parseRequestOptionsFromJSON()`.
  ///
  /// - Parameter allowed: the passkeys to choose from, of a user who is known already. Without any, the authenticator offers all that
  ///   it has for this server, and tells which user has signed in.
  package func assertionOptions(
    challenge: PasskeyChallenge, allowing allowed: [Passkey] = [], timeout: Duration = RelyingParty.usualTimeout
  ) -> JSONText {
    var options = JSONText()
    options.add("challenge", challenge.text)
    options.add("timeout", RelyingParty.milliseconds(timeout))
    options.add("rpId", id)
    options.add("allowCredentials", allowed.map(\.descriptor))
    options.add("userVerification", "required")
    return options
  }

  private static func milliseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = min(max(duration, .zero), longestTimeout).components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }
}

extension Passkey {
  /// `PublicKeyCredentialDescriptorJSON` (WebAuthn Level 3 section 5.8.3).
  fileprivate var descriptor: JSONText {
    var json = JSONText([("type", "public-key"), ("id", id.text)])
    // Without transports clients try all; an empty list could mean none.
    if !transports.isEmpty { json.add("transports", transports) }
    return json
  }
}
#endif
