#if Command
import ArgumentParser
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampTransports

struct Login: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "sign in to a new or known account, and make it the active one",
    discussion: """
      prompts for the password, or reads it as one line from stdin; signing in
      twice is not an error; --json prints the status of the account

      --issuer, --browser and --device sign in at any OAuth 2 or OpenID Connect
      server; the URL of the sign-in page is always printed

      register the redirect URI http://127.0.0.1/callback at the server, with any
      port; many servers compare the whole URI: then register it with a port and
      pass that with --redirect-port, or pass the whole URI with --redirect-uri

      --register registers this program there itself (RFC 7591), if the server
      offers that; it does so again only if the server has forgotten it by then

      --overlap says how long the server accepts a replaced refresh token again
      (an overlap, grace period, leeway or reuse interval); a refresh whose
      response is lost is then repeated in time, and status shows what is known

      --provider, --endpoint, --client-secret-in and --user-id are for servers
      that publish too little; GitHub, Slack and others are known by their issuer;
      --parameter, --audience and --resource go with the request of the sign-in

      all of these and the client secret are remembered, the secret sealed with
      the vault key: later, handstamp login alone signs in again

      --proxy and --client-certificate are remembered as well, for all requests of
      the account; without them, those of the environment are used: HTTPS_PROXY,
      HTTP_PROXY, ALL_PROXY, NO_PROXY and SSL_CERT_FILE
      """)

  @Argument(help: "email address (default: that of --account, else of the current account)") var email: String?
  @Flag(help: "sign in again even if the session is valid") var force = false
  @Option(help: "name of this device in the list of sessions (default: host name)") var deviceName: String?
  @Option(help: "issuer of the OAuth server, an https URL as the server publishes it") var issuer: String?
  @Flag(help: "sign in with a browser") var browser = false
  @Flag(help: "sign in with a code entered on another device") var device = false
  @Flag(help: "read an access token from stdin and use it until it expires") var withToken = false
  @Option(help: "take over the session of a former system, whose refresh token is in this file; - for stdin")
  var takeOver: String?
  @Flag(help: "print the URL of the sign-in page without opening a browser") var noBrowser = false
  @Option(help: "port for the redirect to http://127.0.0.1:PORT/callback (default: any free port)")
  var redirectPort: Int?
  @Option(
    name: .customLong("redirect-uri"),
    help: "redirect URI as registered: http on 127.0.0.1, [::1] or localhost")
  var redirectURI: String?
  @Option(help: "how long to wait for the user (default: 5m for a browser; the code's lifetime for a device)")
  var timeout: Span?
  @Option(
    name: .customLong("client-id"), parsing: .unconditional,
    help: "client ID at the OAuth server (default: the account's, else handstamp-cli)")
  var clientID: String?
  @Flag(help: "register this program as a client at the OAuth server; this is remembered") var register = false
  @Option(help: "file, readable by its owner only, with the client secret in its first line; - for stdin")
  var clientSecretFile: String?
  @Option(name: .customLong("scope"), help: "scope to request (repeatable)") var scopes: [String] = []
  @Option(help: "seconds for which the OAuth server accepts a replaced refresh token again; 0: not at all") var overlap:
    Int?
  @Flag(help: "take tokens of an OAuth server that names no token_type as bearer tokens") var assumeBearer = false
  @Flag(
    inversion: .prefixedNo,
    help: "whether tokens are bound to a key of this machine (RFC 9449): then a copy is useless; this is remembered")
  var dpop: Bool?
  @OptionGroup var network: NetworkOptions
  @OptionGroup var provider: ProviderOptions
  @OptionGroup var list: ListingOptions
  @OptionGroup var output: OutputOptions
  @OptionGroup var server: ServerOptions
  @OptionGroup var account: AccountOptions

  func perform(in installation: Installation) async throws {
    try EnvironmentToken.refuse(to: "login")
    let tag = try list.tag()
    if let redirectURI { _ = try LoopbackAddress(redirect: redirectURI) }
    // With an email address or a server on the command line, HANDSTAMP_ACCOUNT does not apply.
    let named = email == nil && server.server == nil ? account.named : account.account
    var server = server
    if let issuer { server.server = issuer }
    let attempt: SignInAttempt
    do throws(CommandError) {
      attempt = try await SignInAttempt(
        server: server, account: named, deviceName: deviceName, network: network, output: output, tag: tag,
        activates: list.activates)
    } catch {
      guard error == .noServer, let hint else { throw error }
      throw error.hinting(hint)
    }
    let known = force ? nil : try await attempt.alreadySignedIn(as: email)
    // A new tag without an address is for another account, and not a new name of the one that is signed in.
    let isAnother = known != nil && email == nil && named == nil && tag != nil && tag != known?.tag
    if let known, !isAnother {
      if clientID != nil || register { try attempt.refuseReplacing(known, by: clientID) }
      try attempt.note(overlap: overlap, of: known)
      if network.isGiven {
        try await attempt.rememberNetwork(of: known)
        Terminal.say("stored how to reach the server")
      }
      return try await attempt.keep(known)
    }
    if withToken {
      try await attempt.refuseForeign("an access token")
      let token = try Terminal.secret("access token")
      try await attempt.signIn(by: SignInClaim(.token)) { () async throws(CommandError) in
        try await attempt.server.waiting { () async throws(SessionError) in
          try await GivenToken.grant(token, at: attempt.server, over: attempt.transport)
        }
      }
      return
    }
    if let takeOver { return try await self.takeOver(takeOver, attempt) }
    // An account that used OAuth before uses it again.
    let isRemembered = email == nil ? try attempt.signedInByOAuth() != nil : false
    if namesOAuth || isRemembered { return try await signInByOAuth(attempt) }
    try await attempt.refuseForeign("a password")
    let usual = isAnother ? nil : attempt.meant?.address
    if email == nil, attempt.named == nil, let usual { Terminal.say("signing in to \(usual)") }
    let email = try email ?? usual ?? Terminal.line("email", hint: "run: handstamp login EMAIL")
    let password = try Terminal.secret("password")
    try await attempt.signIn(by: SignInClaim(.password, as: email), name: email) { () async throws(CommandError) in
      try await CommandError.askingForCode { code throws(CommandError) in
        try await attempt.server.waiting { () async throws(SessionError) in
          try await attempt.identity.signIn(email: email, password: password, code: code)
        }
      }
    }
  }

  func validate() throws {
    guard [browser || noBrowser, device, withToken].count(where: { $0 }) <= 1 else {
      throw ValidationError("--browser, --device and --with-token cannot be combined")
    }
    guard issuer == nil || server.server == nil else {
      throw ValidationError("--issuer and --server cannot be combined")
    }
    guard issuer == nil || !withToken else {
      throw ValidationError("--with-token works only with a Handstamp server; use --server instead of --issuer")
    }
    guard takeOver == nil || !(namesOAuth || withToken) else {
      throw ValidationError("--take-over works only with a Handstamp server, and not with --with-token")
    }
    guard email == nil || !(namesOAuth || withToken || takeOver != nil) else {
      throw ValidationError("an email address is only for signing in with a password")
    }
    guard !register || clientID == nil && clientSecretFile == nil && !withToken else {
      throw ValidationError("--register cannot be combined with --client-id, --client-secret-file or --with-token")
    }
    guard redirectPort == nil || redirectURI == nil else {
      throw ValidationError("--redirect-port and --redirect-uri cannot be combined; put the port into the URI")
    }
    guard redirectPort == nil && redirectURI == nil || !(device || withToken) else {
      throw ValidationError("--redirect-port and --redirect-uri are only for signing in with a browser")
    }
    guard redirectPort.map({ (1...65_535).contains($0) }) ?? true else {
      throw ValidationError("--redirect-port must be between 1 and 65535")
    }
    guard
      !withToken
        || clientID == nil && clientSecretFile == nil && scopes.isEmpty && overlap == nil && !assumeBearer
          && dpop == nil && !provider.areGiven
    else {
      throw ValidationError(
        "--with-token cannot be combined with an option for OAuth servers, such as --client-id or --scope"
      )
    }
    guard overlap.map({ (0...86_400).contains($0) }) ?? true else {
      throw ValidationError("--overlap must be between 0 and 86400 seconds")
    }
  }

  /// Whether the command line has an argument that applies only to OAuth.
  private var namesOAuth: Bool {
    issuer != nil || browser || device || noBrowser || clientID != nil || clientSecretFile != nil || !scopes.isEmpty
      || redirectPort != nil || redirectURI != nil || register || overlap != nil || assumeBearer || dpop != nil
      || provider.areGiven
  }

  /// A hint that shows how to pass a server to the command as typed.
  private var hint: String? {
    if withToken { return "run: handstamp login --with-token --server https://id.example.org" }
    guard browser || noBrowser || device else { return nil }
    return "run: handstamp login --issuer https://id.example.org" + (device ? " --device" : " --browser")
  }

  /// Takes over the session of the system that the server's users come from. The file stays: until the account is listed, the same
  /// command gets the same session.
  private func takeOver(_ file: String, _ attempt: SignInAttempt) async throws(CommandError) {
    try await attempt.refuseForeign("a token of a former system")
    let token =
      try file == "-"
      ? Terminal.secret("refresh token") : SecretFile.firstLine(of: file, for: "--take-over", code: .usage)
    guard token.isToken else {
      throw CommandError(.usage, "not a refresh token", hint: "pass the refresh token alone, as one line")
    }
    try await attempt.signIn(by: SignInClaim(.moved)) { () async throws(CommandError) in
      try await attempt.server.waiting { () async throws(SessionError) in
        try await attempt.identity.signIn(former: token)
      }
    }
  }

  private func signInByOAuth(_ attempt: SignInAttempt) async throws(CommandError) {
    let (record, secret) = try await client(attempt)
    let isBrowserNamed = browser || noBrowser || redirectPort != nil || redirectURI != nil
    try await attempt.signIn(
      record, secret: secret, by: device ? .device : isBrowserNamed ? .browser : nil, opening: !noBrowser,
      within: timeout?.duration)
  }

  /// Returns the client from the command line, completed with the account's stored record. A client other than the stored one
  /// takes only the issuer from it.
  private func client(_ attempt: SignInAttempt) async throws(CommandError) -> (OAuthRecord, Secret?) {
    let found = try attempt.knownByOAuth()
    let isSame = clientID.map { $0 == found?.record.client } ?? (!register || found?.record.registration != nil)
    let known = isSame ? found : nil
    let redirect = redirectURI ?? redirectPort.map { "http://127.0.0.1:\($0)/callback" } ?? known?.record.redirect
    var record = OAuthRecord(
      issuer: issuer ?? found?.record.issuer ?? attempt.server.text,
      client: clientID ?? known?.record.client ?? (register ? "" : "handstamp-cli"),
      scopes: scopes.isEmpty ? known?.record.scopes ?? [] : scopes, redirect: redirect,
      overlap: overlap ?? known?.record.overlap, assumesBearer: assumeBearer ? true : known?.record.assumesBearer)
    provider.complete(&record, with: known?.record)
    record.registration = known?.record.registration
    record.isBound = dpop ?? known?.record.isBound == true ? true : nil
    if let clientSecretFile {
      guard clientSecretFile != "-" else { return (record, try Terminal.secret("client secret")) }
      return (
        record,
        try SecretFile.firstLine(of: clientSecretFile, for: "--client-secret-file", code: .failure)
      )
    }
    guard let known, known.record.hasSecret == true else { return (record, nil) }
    do throws(VaultError) {
      let file = attempt.home.clientSecretFile(of: known.account.id)
      if let secret = try await file.secret() { return (record, secret) }
      throw .unavailable("it is missing")
    } catch {
      throw CommandError(
        .vault, "cannot read the secret of client \(record.client): \(CommandError(error).message)",
        hint: "pass it again with --client-secret-file")
    }
  }
}

/// Options for how the account is listed after sign-in.
struct ListingOptions: ParsableArguments {
  @Option(name: .customLong("tag"), help: "short name for the account, e.g. work")
  var typedTag: String?
  @Flag(help: "do not make this the active account") var noSwitch = false

  var activates: Bool { !noSwitch }

  /// - Throws: A refusal if the tag could not be passed to `--account`.
  func tag() throws(CommandError) -> String? {
    guard let tag = typedTag else { return nil }
    let isWord = !tag.isEmpty && tag.count <= 64 && !tag.hasPrefix("-") && !tag.contains { $0.isWhitespace }
    guard isWord, tag.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw CommandError(.usage, "invalid tag", hint: "use a single word of at most 64 characters, such as work")
    }
    return tag
  }
}

extension ListedAccount {
  /// The email address to sign in with, if known.
  fileprivate var address: String? { name.contains("@") ? name : nil }
}

/// A session made from an access token that was obtained elsewhere. It ends when the token expires.
enum GivenToken {
  /// Looks up the token's account at the server.
  static func grant(
    _ token: Secret, at server: ServerAddress, over transport: any Transport
  ) async throws(SessionError) -> TokenResponse {
    guard token.isToken else {
      throw .refused(code: "invalid_request", detail: "not a valid token")
    }
    let request = TransportRequest(
      method: "GET", url: server.text + "/v1/me", headers: [.bearer(token)], maximumResponseSize: 1 << 20)
    let response: TransportResponse
    do throws(TransportError) { response = try await transport.send(request) } catch {
      throw SessionError(error)
    }
    switch response.status {
    case 200: break
    case 401, 403: throw .refused(code: "invalid_token", detail: "the server rejected the token")
    default: throw .requestFailed(.server(.init(status: response.status)))
    }
    guard let person = try? JSONDecoder().decode(WhoAmI.self, from: Data(response.body)) else {
      throw .invalidResponse("the response does not name the token's account")
    }
    return TokenResponse(
      tokens: TokenSet(access: AccessToken(token), expiresIn: nil, refresh: nil), sessionID: person.session_id,
      profile: Profile(id: person.id, name: person.name, isAnonymous: person.is_anonymous ?? false),
      revocation: RevocationHandle(token))
  }
}
#endif
