#if Programs
import ArgumentParser
import Foundation
import Handstamp
import HandstampCore
import HandstampLoopback
import HandstampVaults

/// `handstamp login`.
struct Login: SessionCommand {
  static let configuration = CommandConfiguration(
    abstract: "signs in to one more account, or anew to one that is known, and makes it the active one",
    discussion: """
      the password is asked for at a prompt, or read as one line from stdin; signing in twice is no error

      with --issuer, --browser or --device the server is any OAuth 2 or OpenID Connect server, and this is one of its
      clients; the address of the page is printed in any case

      client, redirect address and secret are remembered: a later handstamp login needs none of them. Many servers compare
      the whole redirect address: register http://127.0.0.1:PORT/callback and name the port by --redirect-port, or name
      the address itself by --redirect-uri
      """)

  @Argument(help: "the email address (default: that of --account, else of the account in use)") var email: String?
  @Flag(help: "sign in again, even if the session is good") var force = false
  @Option(help: "how this device is listed (default: the host's name)") var deviceName: String?
  @Option(help: "an OAuth server's issuer, an https URL as the server writes it") var issuer: String?
  @Flag(help: "sign in by a browser") var browser = false
  @Flag(help: "sign in by a code that is typed in on another device") var device = false
  @Flag(help: "read an access token from stdin, and use it until it ends") var withToken = false
  @Flag(help: "print the address of the page, and start no browser") var noBrowser = false
  @Option(help: "the port on 127.0.0.1 that the browser comes back to, at /callback (default: any free one)")
  var redirectPort: Int?
  @Option(
    name: .customLong("redirect-uri"),
    help: "the address that the browser comes back to, as it is registered: http on 127.0.0.1, [::1] or localhost")
  var redirectURI: String?
  @Option(help: "how long to wait for the user (default: 5m for a browser, for a device as long as its code is good)")
  var timeout: Span?
  @Option(
    name: .customLong("client-id"),
    help: "what the OAuth server knows this program by (default: that of the account, else handstamp-cli)")
  var clientID: String?
  @Option(help: "a file for its owner alone with the client's secret in its first line; - for stdin")
  var clientSecretFile: String?
  @Option(name: .customLong("scope"), help: "what to ask the OAuth server for; may be given again") var scopes:
    [String] = []
  @OptionGroup var list: ListingOptions
  @OptionGroup var server: ServerOptions
  @OptionGroup var account: AccountOptions

  func perform() async throws {
    try EnvironmentToken.refuse(to: "login")
    let tag = try list.tag()
    if let redirectURI { _ = try LoopbackAddress(redirect: redirectURI) }
    // Who names another address, or another server, does not mean the shell's account.
    let named = email == nil && server.server == nil ? account.named : account.account
    var server = server
    if let issuer { server.server = issuer }
    let attempt: SignInAttempt
    do throws(Refusal) {
      attempt = try await SignInAttempt(server: server, account: named, deviceName: deviceName)
    } catch {
      guard error == .noServer, let hint else { throw error }
      throw Refusal(error.code, error.message, hint: hint)
    }
    if !force, let known = try await attempt.alreadySignedIn(as: email) {
      return try await attempt.keep(known, tag: tag, activate: list.activates)
    }
    if withToken {
      try await attempt.refuseForeign("an access token")
      let token = try Terminal.secret("access token")
      return try await attempt.signIn(name: nil, tag: tag, activate: list.activates) {
        () async throws(SessionError) -> Grant in
        try await GivenToken.grant(token, at: attempt.server)
      }
    }
    // An account that was signed in to by OAuth is signed in to again in that way.
    let isRemembered = email == nil ? try attempt.signedInByOAuth() != nil : false
    if namesOAuth || isRemembered { return try await signInByOAuth(attempt, tag: tag) }
    try await attempt.refuseForeign("a password")
    if email == nil, attempt.named == nil, let address = attempt.meant?.address {
      Terminal.say("signing in to \(address)")
    }
    let email = try email ?? attempt.meant?.address ?? Terminal.line("email", hint: "name it: handstamp login EMAIL")
    let password = try Terminal.secret("password")
    let identity = attempt.identity
    try await attempt.signIn(name: email, tag: tag, activate: list.activates) {
      () async throws(SessionError) -> Grant in
      try await identity.password(email, password)
    }
  }
}

extension Login {
  func validate() throws {
    guard [browser || noBrowser, device, withToken].count(where: { $0 }) <= 1 else {
      throw ValidationError("--browser, --device and --with-token do not go together")
    }
    guard issuer == nil || server.server == nil else {
      throw ValidationError("--issuer and --server do not go together")
    }
    guard issuer == nil || !withToken else {
      throw ValidationError("--with-token is for Handstamp's own server: name it by --server")
    }
    guard email == nil || !(namesOAuth || withToken) else {
      throw ValidationError("an email address is for the sign-in with a password")
    }
    guard redirectPort == nil || redirectURI == nil else {
      throw ValidationError("--redirect-port and --redirect-uri do not go together: write the port into the address")
    }
    guard redirectPort == nil && redirectURI == nil || !(device || withToken) else {
      throw ValidationError("--redirect-port and --redirect-uri are for the sign-in by a browser")
    }
    guard redirectPort.map({ (1...65_535).contains($0) }) ?? true else {
      throw ValidationError("--redirect-port takes a number between 1 and 65535")
    }
    guard !withToken || clientID == nil && clientSecretFile == nil && scopes.isEmpty else {
      throw ValidationError("--client-id, --client-secret-file and --scope do not go together with --with-token")
    }
  }

  /// Whether anything that was typed makes sense for OAuth alone.
  private var namesOAuth: Bool {
    issuer != nil || browser || device || noBrowser || clientID != nil || clientSecretFile != nil || !scopes.isEmpty
      || redirectPort != nil || redirectURI != nil
  }

  /// How the command that was typed names a server.
  private var hint: String? {
    if withToken { return "run: handstamp login --with-token --server https://id.example.org" }
    guard browser || noBrowser || device else { return nil }
    return "run: handstamp login --issuer https://id.example.org" + (device ? " --device" : " --browser")
  }

  private func signInByOAuth(_ attempt: SignInAttempt, tag: String?) async throws(Refusal) {
    let (record, secret) = try await client(attempt)
    let signIn = try await OAuthSignIn(record, secret: secret, at: attempt.server)
    let isBrowserNamed = browser || noBrowser || redirectPort != nil || redirectURI != nil
    let way: OAuthSignIn.Way = if device { .device } else if isBrowserNamed { .browser } else { signIn.usualWay }
    let grant = try await signIn.signIn(by: way, opening: !noBrowser, within: timeout?.duration) {
      (perform) async throws(SessionError) in try await attempt.exchange(perform)
    }
    try await attempt.signIn(
      name: nil, tag: tag, activate: list.activates, oauth: signIn.record, clientSecret: signIn.secret
    ) { () async throws(SessionError) -> Grant in grant }
  }

  /// What was typed, and for the rest what is known of the account. Another client than the known one has nothing in common
  /// with it.
  private func client(_ attempt: SignInAttempt) async throws(Refusal) -> (OAuthRecord, Secret?) {
    let found = try attempt.knownByOAuth()
    let known = clientID == nil || clientID == found?.record.client ? found : nil
    let redirect = redirectURI ?? redirectPort.map { "http://127.0.0.1:\($0)/callback" } ?? known?.record.redirect
    let record = OAuthRecord(
      issuer: issuer ?? found?.record.issuer ?? attempt.server.text,
      client: clientID ?? known?.record.client ?? "handstamp-cli",
      scopes: scopes.isEmpty ? known?.record.scopes ?? [] : scopes, redirect: redirect)
    if let clientSecretFile {
      guard clientSecretFile != "-" else { return (record, try Terminal.secret("client secret")) }
      return (
        record,
        try SecretFile.firstLine(of: clientSecretFile, for: "--client-secret-file", code: .failure)
      )
    }
    guard let known, known.record.hasSecret == true else { return (record, nil) }
    do throws(VaultTrouble) {
      if let secret = try await attempt.home.clientSecret(of: known.account.id) { return (record, secret) }
      throw .unavailable("it is missing")
    } catch {
      throw Refusal(
        .vault, "the secret of the client \(record.client) cannot be read: \(Refusal(error).message)",
        hint: "give it anew by --client-secret-file")
    }
  }
}

/// How an account that is signed in to is listed.
struct ListingOptions: ParsableArguments {
  @Option(name: .customLong("tag"), help: "a short name of your own for the account, such as work")
  var typedTag: String?
  @Flag(help: "leave the active account the active one") var noSwitch = false

  var activates: Bool { !noSwitch }

  /// - Throws: a refusal for what could not be written after `--account`.
  func tag() throws(Refusal) -> String? {
    guard let tag = typedTag else { return nil }
    let isWord = !tag.isEmpty && tag.count <= 64 && !tag.hasPrefix("-") && !tag.contains { $0.isWhitespace }
    guard isWord, tag.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw Refusal(.usage, "this is no tag", hint: "a tag is one word, such as work")
    }
    return tag
  }
}

extension Account {
  /// The address to sign in with, if that is known.
  fileprivate var address: String? { name.contains("@") ? name : nil }
}
#endif
