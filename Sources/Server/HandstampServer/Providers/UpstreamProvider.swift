#if Server
public import HandstampCore
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
#endif
