#if Operator
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampServer
import HandstampSupport

extension AdminClients {
  /// `handstamp-server admin clients add`: a new client with a new secret. Only its hash is written; the secret is shown once.
  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "add a client to the file, and show its secret once",
      discussion: """
        the file is created if it is missing; a running server reads it when it is
        reloaded (kill -HUP)
        """)

    @Argument(help: "client ID") var id: String
    @OptionGroup var file: FileOptions
    @OptionGroup var output: OutputOptions
    @Option(help: "name shown to users (default: the ID)") var name: String?
    @Option(name: .customLong("redirect-uri"), help: "where browsers return; may be repeated") var redirectURIs:
      [String] = []
    @Option(
      name: .customLong("scope"),
      help: "scope that it may request; may be repeated (default: \(Add.usualScopes.joined(separator: ", ")))")
    var scopes: [String] = []
    @Option(name: .customLong("audience"), help: "API that its tokens may be for; may be repeated") var audiences:
      [String] = []
    @Option(name: .customLong("backchannel-logout-uri"), help: "where it is told of ended sessions") var logoutURI:
      String?
    @Option(name: .customLong("post-logout-redirect-uri"), help: "where browsers go after a sign-out; may be repeated")
    var postLogoutURIs: [String] = []
    @Option(help: "algorithm of its ID tokens: RS256 or ES256 (default: RS256)") var idTokenAlg: String?
    @Option(name: .customLong("web-origin"), help: "origin of its pages, which may read tokens; may be repeated")
    var webOrigins: [String] = []
    @Option(
      name: .customLong("for"), help: "set what a program needs, such as streamlit; see the end of docs/openid.md")
    var program: String?
    @Flag(name: .customLong("without-pkce"), help: "for a client that has no PKCE: a nonce is asked for instead")
    var withoutPKCE = false
    @Flag(name: .customLong("without-nonce"), help: "with --without-pkce, for a client that has no nonce either")
    var withoutNonce = false
    @Flag(help: "no secret: an app or a command that its users have") var isPublic = false
    @Flag(help: "sign in on another device, with a code") var device = false
    @Flag(help: "an API that may introspect all access tokens, and follow ended sessions") var introspects = false
    @OptionGroup(title: "Programs without users") var access: MachineAccess
    @OptionGroup var options: AdminOptions

    private static let usualScopes = ["openid", "profile", "email"]

    func run() async throws {
      guard !access.machine || !device else {
        throw CommandError(
          .usage, "--machine and --device cannot be combined: a program without users has no one to sign in",
          hint: "drop one of them")
      }
      let list = try file.file()
      let path = list.path
      let isThere = FileManager.default.fileExists(atPath: path)
      let others = isThere ? try file.read() : []
      guard !others.contains(where: { $0.id == id }) else {
        throw CommandError(
          .usage, "\(path) has a client \(id) already", hint: "choose another ID, or edit the file")
      }
      try await requireNoAccount()
      let known = try program.map { name throws(CommandError) in try KnownClient.named(name) }
      let isPublic = self.isPublic || known?.isPublic == true || access.replacesSecret
      // Those of users mean nothing without one.
      let isWithoutUsers = access.machine || introspects && redirectURIs.isEmpty && !device
      let own = !self.scopes.isEmpty ? self.scopes : isWithoutUsers ? [] : Add.usualScopes
      let scopes = own + (known?.scopes ?? []).filter { !own.contains($0) }
      // None for a public client, and one with a key.
      let secret = isPublic ? nil : Base64URL.encode(randomBytes(32))
      let entry = try entry(secret: secret, scopes, known)
      // As the server will read it.
      _ = try ClientFile.clients(in: list, given: entry)
      try list.change { $0.append(entry) }
      if output.json { return Terminal.out(json: ["id": id, "secret": secret]) }
      Terminal.out(id)
      if let secret {
        Terminal.out(secret)
        Terminal.say("the secret is not stored and not shown again")
      }
      if isPublic, scopes.contains("openid"), !scopes.contains("offline_access"), !redirectURIs.isEmpty {
        Terminal.say("its sessions end with the browser's; for an app or a command, add --scope offline_access")
      }
      if let known { Terminal.say(known.words) }
      if entry["codeProtection"] as? String == ConfiguredClient.CodeProtection.none.rawValue {
        Terminal.say("its secret alone protects a code that is taken from the browser")
      }
      if access.machine, !options.hasFolder {
        Terminal.say("no account may have this ID; add --data DIR to have that checked")
      }
      Terminal.say("a running server knows the client after: kill -HUP PID")
    }

    /// Refuses the ID of an account for a client without users: it is the subject of its tokens.
    private func requireNoAccount() async throws(CommandError) {
      guard access.machine, options.hasFolder else { return }
      let isTaken = try await options.administering { administration in
        do { _ = try await administration.account(AccountID(id)) } catch AdministrationError.accountNotFound {
          return false
        }
        return true
      }
      guard isTaken else { return }
      throw CommandError(.usage, "an account has the ID \(id.onOneLine)", hint: "choose another ID")
    }

    private func protection(_ scopes: [String], _ known: KnownClient?) throws(CommandError)
      -> ConfiguredClient.CodeProtection
    {
      guard withoutPKCE || !withoutNonce else {
        throw CommandError(.usage, "--without-nonce is for clients without PKCE", hint: "add --without-pkce")
      }
      guard withoutPKCE else { return known?.protection ?? .pkce }
      return withoutNonce || !scopes.contains("openid") ? .none : .nonce
    }

    private func entry(secret: String?, _ scopes: [String], _ known: KnownClient?) throws(CommandError) -> [String: Any]
    {
      var entry: [String: Any] = [
        "id": id, "redirectURIs": redirectURIs, "scopes": scopes,
        "flows": (redirectURIs.isEmpty ? [] : ["authorization_code"]) + (device ? ["device_code"] : []),
      ]
      entry["name"] = name
      if let secret {
        entry["secretSHA256"] = Hexadecimal.text(ConfiguredClient.hash(of: Secret(secret)))
      }
      entry["backChannelLogoutURI"] = logoutURI
      if !postLogoutURIs.isEmpty { entry["postLogoutRedirectURIs"] = postLogoutURIs }
      // The default of clients that name no algorithm (OpenID Connect Dynamic Client Registration 1.0 section 2).
      if scopes.contains("openid") { entry["idTokenSigningAlg"] = idTokenAlg ?? "RS256" }
      if known?.isPublic == true { entry["claimsInIDTokens"] = true }
      let protection = try protection(scopes, known)
      if protection != .pkce { entry["codeProtection"] = protection.rawValue }
      if !webOrigins.isEmpty { entry["webOrigins"] = webOrigins }
      if !audiences.isEmpty { entry["audiences"] = audiences }
      if introspects { entry["introspects"] = true }
      try access.add(to: &entry, id: id)
      return entry
    }
  }
}

/// The options of `handstamp-server admin clients add` for a client without users.
struct MachineAccess: ParsableArguments {
  @Flag(help: "for a program without users: it gets tokens for itself") var machine = false
  @Option(help: ArgumentHelp("its public key, instead of a secret: PEM, or a JWK Set", valueName: "file"))
  var publicKey: String?
  @Option(help: ArgumentHelp("issuer of the ID tokens of a CI, instead of a secret", valueName: "url"))
  var trustIssuer: String?
  @Option(help: ArgumentHelp("aud of these ID tokens (default: the client ID)", valueName: "audience"))
  var trustAudience: String?
  @Option(
    name: .customLong("trust-claim"),
    help: ArgumentHelp("claim that they must have, such as repository=a/b; may be repeated", valueName: "name=value"))
  var trustClaims: [String] = []

  /// Whether the client has no secret, because it authenticates itself otherwise.
  var replacesSecret: Bool { publicKey != nil || trustIssuer != nil }

  /// Adds the settings to the entry of a client.
  func add(to entry: inout [String: Any], id: String) throws(CommandError) {
    if let publicKey { entry["jwks"] = try keys(in: publicKey) }
    guard machine else {
      guard trustIssuer == nil, trustAudience == nil, trustClaims.isEmpty else {
        throw CommandError(.usage, "--trust-issuer is for clients without users", hint: "add --machine")
      }
      return
    }
    guard let trustIssuer else {
      guard trustAudience == nil, trustClaims.isEmpty else {
        throw CommandError(
          .usage, "--trust-audience and --trust-claim need an issuer",
          hint: "add --trust-issuer https://token.actions.githubusercontent.com")
      }
      entry["flows"] = [ConfiguredClient.Flow.credentials.rawValue]
      return
    }
    entry["flows"] =
      [ConfiguredClient.Flow.assertion.rawValue]
      + (publicKey == nil ? [] : [ConfiguredClient.Flow.credentials.rawValue])
    entry["trusts"] = [
      ["issuer": trustIssuer, "audience": trustAudience ?? id, "claims": try claims()] as [String: Any]
    ]
  }

  private func claims() throws(CommandError) -> [String: String] {
    var claims: [String: String] = [:]
    for text in trustClaims {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
        throw CommandError(
          .usage, "invalid --trust-claim \"\(text.onOneLine)\"", hint: "write it as --trust-claim repository=owner/name"
        )
      }
      claims[parts[0]] = parts[1]
    }
    guard !claims.isEmpty else {
      throw CommandError(
        .usage, "without a claim, every job of that CI could get tokens",
        hint: "add --trust-claim repository=owner/name, or project_path=group/name at GitLab")
    }
    return claims
  }

  private func keys(in path: String) throws(CommandError) -> Any {
    guard let content = FileManager.default.contents(atPath: path), content.count <= 64 << 10 else {
      throw CommandError(.failure, "cannot read \(path)", hint: "pass a file that you can read")
    }
    let text = String(decoding: content, as: UTF8.self)
    guard let set = ConfiguredClient.keySet(text), let object = try? JSONSerialization.jsonObject(with: Data(set.utf8))
    else {
      throw CommandError(
        .usage, "\(path): not a public key for P-256 or RSA",
        hint: "make one with: openssl pkey -in client.pem -pubout -out client.pub")
    }
    return object
  }
}

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
