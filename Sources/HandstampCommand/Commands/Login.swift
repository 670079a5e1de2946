#if Programs
import ArgumentParser
import Foundation
import Handstamp
import HandstampCore
import HandstampVaults

/// `handstamp login`.
struct Login: SessionCommand {
  static let configuration = CommandConfiguration(
    abstract: "signs in to one more account, or anew to one that is known, and makes it the active one",
    discussion: """
      the password is asked for at a prompt, or read as one line from stdin; signing in twice is no error

      with --issuer, --browser or --device the server is any OAuth 2 or OpenID Connect server, and this is one of its
      clients; the address of the page is printed in any case
      """)

  @Argument(help: "the email address (default: that of --account, else of the account in use)") var email: String?
  @Flag(help: "sign in again, even if the session is good") var force = false
  @Option(help: "how this device is listed (default: the host's name)") var deviceName: String?
  @Option(help: "an OAuth server's issuer, an https URL as the server writes it") var issuer: String?
  @Flag(help: "sign in by a browser") var browser = false
  @Flag(help: "sign in by a code that is typed in on another device") var device = false
  @Flag(help: "read an access token from stdin, and use it until it ends") var withToken = false
  @Flag(help: "print the address of the page, and start no browser") var noBrowser = false
  @Option(help: "how long to wait for the person (default: 5m for a browser, for a device as long as its code is good)")
  var timeout: Span?
  @Option(name: .customLong("client-id"), help: "what the OAuth server knows this program by")
  var clientID = "handstamp-cli"
  @Option(name: .customLong("scope"), help: "what to ask the OAuth server for; may be given again") var scopes:
    [String] = []
  @OptionGroup var list: ListingOptions
  @OptionGroup var server: ServerOptions
  @OptionGroup var account: AccountOptions

  func perform() async throws {
    try EnvironmentToken.refuse(to: "login")
    let tag = try list.tag()
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
      let token = try Terminal.secret("access token")
      return try await attempt.signIn(name: nil, tag: tag, activate: list.activates) {
        () async throws(SessionError) -> Grant in
        try await GivenToken.grant(token, at: attempt.server)
      }
    }
    // An account that was signed in to by OAuth is signed in to again in that way.
    let known = email == nil ? attempt.knownOAuth : nil
    if issuer != nil || browser || device || noBrowser || known != nil {
      return try await signInByOAuth(attempt, known: known, tag: tag)
    }
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
    guard email == nil || !(issuer != nil || browser || noBrowser || device || withToken) else {
      throw ValidationError("an email address is for the sign-in with a password")
    }
  }

  /// How the command that was typed names a server.
  private var hint: String? {
    if withToken { return "run: handstamp login --with-token --server https://id.example.org" }
    guard browser || noBrowser || device else { return nil }
    return "run: handstamp login --issuer https://id.example.org" + (device ? " --device" : " --browser")
  }

  /// - Parameter known: the client and the scopes of the last time, which are used unless others are named.
  private func signInByOAuth(_ attempt: SignInAttempt, known: OAuthRecord?, tag: String?) async throws(Refusal) {
    let isDefault = clientID == "handstamp-cli"
    let (grant, record): (Grant, OAuthRecord)
    do throws(SessionError) {
      let signIn = try await OAuthSignIn(
        issuer: issuer ?? known?.issuer ?? attempt.server.text,
        client: isDefault ? known?.client ?? clientID : clientID,
        scopes: scopes.isEmpty ? known?.scopes ?? [] : scopes)
      let way: OAuthSignIn.Way =
        if device { .device } else if browser || noBrowser { .browser } else { try await signIn.usualWay() }
      grant = try await attempt.exchange { () async throws(SessionError) in
        try await signIn.signIn(by: way, opening: !noBrowser, within: timeout?.duration)
      }
      record = signIn.record
    } catch {
      let refusal = Refusal(error, server: attempt.server)
      guard case .invalidAnswer = error else { throw refusal }
      throw Refusal(
        refusal.code, refusal.message,
        hint: "write the issuer exactly as the server does: see its /.well-known/openid-configuration")
    }
    try await attempt.signIn(name: nil, tag: tag, activate: list.activates, oauth: record) {
      () async throws(SessionError) -> Grant in grant
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
