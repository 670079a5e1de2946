#if Operator
import HandstampCommandLine
import HandstampServer

/// The settings of a program whose defaults are not those of a new client. `scripts/dev openid` runs most of them.
struct KnownClient {
  let name: String
  var protection = ConfiguredClient.CodeProtection.pkce
  var isPublic = false
  /// Scopes that it asks for besides those of a new client.
  var scopes: [String] = []

  private static let nonced = [
    "authlib", "dash-auth", "django-pyoidc", "flask-appbuilder", "flask-multipass", "flask-oidc", "flask-pyoidc",
    "gitlab", "go-oidc", "idpyoidc", "indico", "lemonldap", "mozilla-django-oidc", "oic", "pgadmin",
    "python-social-auth", "superset",
  ]
  private static let bare = [
    "aioauth-client", "authomatic", "django-allauth", "fastapi-sso", "flask-dance", "google-oauth-client",
    "httpx-oauth", "kinto", "lwp-authen-oauth2", "mojolicious-oauth2", "net-oauth2", "requests-oauthlib", "roundcube",
    "ruby-oauth2", "simple-openid-connect",
  ]
  private static let plain = ["jupyterhub", "mod_auth_openidc", "requests_oauth2client", "streamlit", "synapse"]

  static let all: [KnownClient] =
    (nonced.map { KnownClient(name: $0, protection: .nonce) } + bare.map { KnownClient(name: $0, protection: .none) }
    + plain.map { KnownClient(name: $0) }
    + [
      KnownClient(name: "django-oauth2-authcodeflow", isPublic: true, scopes: ["offline_access"]),
      KnownClient(name: "kubernetes", isPublic: true, scopes: ["offline_access", "groups"]),
      KnownClient(name: "oidc-agent", isPublic: true, scopes: ["offline_access"]),
      KnownClient(name: "panel", protection: .none, scopes: ["offline_access"]),
    ]).sorted { $0.name < $1.name }

  static var names: String { all.map(\.name).joined(separator: ", ") }

  /// The settings in words, for its operator.
  var words: String {
    let needs =
      [
        isPublic ? "no secret, and name and address in its ID tokens" : nil,
        protection == .nonce ? "a nonce instead of PKCE, which it has not by default" : nil,
        protection == .none ? "neither PKCE nor a nonce, which it has not by default" : nil,
        scopes.isEmpty ? nil : "the scope\(scopes.count == 1 ? "" : "s") \(scopes.joined(separator: " and "))",
      ].compactMap { $0 }
    return needs.isEmpty ? "\(name) needs nothing else" : "for \(name): \(needs.joined(separator: "; "))"
  }

  static func named(_ name: String) throws(CommandError) -> KnownClient {
    guard let known = all.first(where: { $0.name == name.lowercased() }) else {
      throw CommandError(
        .usage, "no settings are known for \(name)", hint: "omit --for, or use one of: \(names)")
    }
    return known
  }
}
#endif
