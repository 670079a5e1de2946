#if Server
import HandstampSupport
import HandstampWebAuthn

/// The domain that the passkeys of a server belong to (_RP ID_, WebAuthn Level 2 section 4). Passkeys of another domain are useless.
public enum PasskeyDomain: Sendable, Hashable {
  /// The host of the issuer. Without passkeys, if that is an address such as 127.0.0.1.
  case issuer
  /// That domain: the host of the issuer, or one above it, such as `example.com` for `https://login.example.com`. Also the
  /// `webcredentials` domain of Apple's apps.
  case domain(String)
  /// The server has no passkeys.
  case none
}

extension PasskeyDomain {
  /// Returns the relying party of the server with that issuer; `nil` if there are no passkeys.
  ///
  /// - Parameters:
  ///   - others: further origins; those below the domain may use its passkeys.
  ///   - apps: the apps on Android that may use them.
  func party(
    of issuer: String, and others: Set<String>, apps: [AndroidApp], name: String
  ) throws(ServerConfigurationError) -> RelyingParty? {
    let origin = Origin(issuer)
    let id: String
    switch self {
    case .none: return nil
    case .domain(let domain): id = domain
    case .issuer:
      guard let origin else { return nil }
      id = origin.host
    }
    var origins = others.filter { Origin($0).map { $0.host == id || $0.host.hasSuffix("." + id) } ?? false }
    if let origin {
      origins.insert(origin.text)
      // The origins that Apple's systems name for apps.
      if origin.scheme == "https" { origins.insert("https://" + id) }
    }
    do throws(RelyingParty.ConfigurationError) {
      return try RelyingParty(id: id, name: name, origins: origins, apps: Set(apps.map(\.origin)))
    } catch {
      guard case .domain = self else { return nil }
      throw .passkeyDomain(id, issuer: issuer)
    }
  }
}
#endif
