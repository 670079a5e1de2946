#if Server
import HandstampCore
import HandstampOAuth
import HandstampRegistry
import HandstampSupport

extension [UpstreamProvider] {
  /// Returns the sign-ins at these providers.
  ///
  /// - Parameter transport: `nil` if the server has none, or accounts that are an app's.
  /// - Throws: ``ServerConfigurationError/provider(_:)``.
  func signIns(
    issuer: String, mint: TokenMint, transport: (any Transport)?, now: @escaping @Sendable () -> UnixTime
  ) throws(ServerConfigurationError) -> [UpstreamSignIn] {
    guard let first else { return [] }
    guard let transport else {
      throw .provider("\(first.id) needs a transport, and accounts that are the server's own")
    }
    if let defect { throw .provider(defect) }
    return map { UpstreamSignIn($0, base: issuer, mint: mint, transport: transport, now: now) }
  }

  /// The reason why they cannot be used together; `nil` if they can.
  package var defect: String? {
    for (index, provider) in enumerated() {
      if let defect = provider.defect { return "the provider \(provider.id) \(defect)" }
      for other in self[..<index] {
        if other.id == provider.id { return "two providers have the ID \(provider.id)" }
        // An identity is the issuer's: each of the two would take those of the other for its own.
        if other.issuer.isIssuer(published: provider.issuer) {
          return "\(other.id) and \(provider.id) have the same issuer"
        }
      }
    }
    return nil
  }
}

extension UpstreamProvider {
  /// The longest image, in bytes.
  private static let longestLogo = 256 << 10

  /// Whether the first sign-in of a user with that verified address may create an account.
  func admits(_ address: EmailAddress?) -> Bool {
    switch signUp {
    case .open: return true
    case .invited: return false
    case .domains(let domains):
      guard let host = address?.normalized.split(separator: "@").last else { return false }
      return domains.contains { EmailAddress(new: "a@" + $0)?.normalized.dropFirst(2) == host }
    }
  }

  /// Whether an identity is one of this provider's.
  func isOf(_ link: LinkedIdentity) -> Bool {
    link.provider == id || link.provider.isEmpty && issuer.isIssuer(published: link.identity.issuer)
  }

  /// The reason why it is unusable, in words that follow its ID; `nil` if it can be used.
  package var defect: String? {
    guard UpstreamProvider.isID(id) else { return "has an ID with other characters than a to z, 0 to 9 and -" }
    guard (1...80).contains(name.count), name.isDisplayName else { return "has no name of 1 to 80 characters" }
    guard
      [
        issuer, userInfo?.authorizationEndpoint, userInfo?.tokenEndpoint, userInfo?.userInfoEndpoint,
        userInfo?.emailsEndpoint, polling?.endpoint,
      ].compactMap(\.self).allSatisfy({ Origin($0)?.isTrustworthy == true })
    else { return "has an address that is not an https URL, nor http on this machine" }
    guard !clientID.isEmpty else { return "has no client ID" }
    guard userInfo != nil || scopes.contains("openid") else { return "lacks the scope openid" }
    // Microsoft, "Migrate away from using email claims for user identification or authorization".
    let shared = issuer.split(separator: "/").first { ["common", "organizations"].contains($0.lowercased()) }
    if trustsEmail, let shared, OAuthProvider(of: issuer)?.hasTenants == true {
      return "trusts addresses of all of Microsoft's tenants (\(shared)), whose administrators choose any they like"
    }
    if case .domains(let domains) = signUp {
      guard !domains.isEmpty, domains.allSatisfy({ EmailAddress(new: "a@" + $0) != nil }) else {
        return "lets people of something else than domains sign up"
      }
    }
    return (logo?.bytes.count ?? 0) > UpstreamProvider.longestLogo ? "has a logo of more than 256 KiB" : nil
  }
}
#endif
