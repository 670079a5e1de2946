#if Server
public import HandstampCore
import HandstampOAuth
import HandstampRegistry
import HandstampSupport

/// A provider that users sign in with: any OpenID Connect issuer, or an OAuth server that says who a user is at another URL.
public struct UpstreamProvider: Sendable, Hashable {
  /// Who gets an account by the first sign-in.
  public enum SignUp: Sendable, Hashable {
    case open
    /// Only users who have an account already.
    case invited
    /// Users with a verified address of one of these domains.
    case domains([String])
  }

  /// The name in URLs and settings, such as `google`: 1 to 32 of `a` to `z`, `0` to `9` and `-`.
  public var id: String
  /// The name that users read, such as `Google`.
  public var name: String
  /// The issuer: an `https` URL, as in the provider's metadata but for the slash of an empty path; `http` only on loopback.
  public var issuer: String
  /// The `client_id` that the provider assigned.
  public var clientID: String
  /// The client's secret; `nil` (the default) for a public client.
  public var clientSecret: Secret?
  /// The scopes that a sign-in requests. Default `openid email profile`.
  public var scopes: [String]
  /// How an OAuth provider without ID tokens says who a user is; `nil` (the default) for OpenID Connect.
  public var userInfo: UserInfoMapping?
  /// Whether the provider's word that it has verified an address is enough to find an account by it. Default `false`.
  public var trustsEmail = false
  /// Who gets an account by the first sign-in. Default: everyone.
  public var signUp = SignUp.open
  /// Further client IDs for which apps get native ID tokens, such as those of an iOS and an Android app.
  public var nativeClientIDs: Set<String> = []
  /// Where the provider keeps security events for this server; `nil` (the default) if it sends them, or has none.
  public var polling: UpstreamPolling?
  /// The image on the provider's button, shown as it is; `nil` (the default) for the name alone.
  public var logo: PageSettings.Image?

  public init(
    id: String, name: String, issuer: String, clientID: String, clientSecret: Secret? = nil,
    scopes: [String] = ["openid", "email", "profile"], userInfo: UserInfoMapping? = nil
  ) {
    self.id = id
    self.name = name
    self.issuer = issuer
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.scopes = scopes
    self.userInfo = userInfo
  }

  /// Whether a text can be an ``id``.
  public static func isID(_ text: String) -> Bool {
    (1...32).contains(text.utf8.count) && text.utf8.allSatisfy(\.isOfName)
  }

  /// The path that the provider redirects browsers to, below the server's own URL. One for each provider, so that a response of one
  /// is never read as another's (RFC 9700 section 4.4.2).
  public var callbackPath: String { "/sign-in/with/\(id)/callback" }
}

/// How an OAuth provider without ID tokens says who a user is: a URL, and the names of members in the response.
public struct UserInfoMapping: Sendable, Hashable {
  /// The kind of a server whose issuer does not tell it, such as `github` for GitHub Enterprise Server: one of
  /// `OAuthProvider.knownNames`. `nil` (the default) as the issuer tells.
  public var kind: String?
  /// Where browsers are sent; `nil` (the default) as known for the issuer or in its metadata. The same holds for the other two.
  public var authorizationEndpoint: String?
  public var tokenEndpoint: String?
  public var userInfoEndpoint: String?
  /// The member that identifies the user for good, as a text or a whole number. Never an address or a name, which can be reassigned.
  /// `data.id` is the member `id` of the object `data`; the same holds for the others.
  public var id = "id"
  /// The members that may hold a name to show, best first.
  public var names = ["name", "global_name", "login", "username"]
  /// The member with the email address; `nil` for none.
  public var email: String? = "email"
  /// The member that says whether the address is verified; `nil` (the default) if the provider does not say.
  public var emailVerified: String?
  /// The URL of a list of the user's addresses, each with `email`, `primary` and `verified`, as at GitHub. It counts before
  /// ``email``.
  public var emailsEndpoint: String?

  public init() {}

  /// GitHub, with the scopes `read:user` and `user:email`.
  public static var gitHub: UserInfoMapping {
    var mapping = UserInfoMapping()
    mapping.emailsEndpoint = "https://api.github.com/user/emails"
    return mapping
  }

  /// Discord, with the scopes `identify` and `email`.
  public static var discord: UserInfoMapping {
    var mapping = UserInfoMapping()
    mapping.emailVerified = "verified"
    return mapping
  }
}

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
