#if Command
import ArgumentParser
import Handstamp
import HandstampCommandLine
import HandstampSupport

struct Token: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "print a valid access token, or ID token",
    discussion: """
      safe to run in parallel: processes that need a refresh share one

      with --resource, --scope or --audience, a token for another API or for less
      than the session was granted, which all processes share until it expires

      an account that signed in with --dpop has tokens that are bound to a key; as
      each request needs a proof: curl -H @<(handstamp token --dpop URL) URL

      with --client-credentials or --ci, a token of a program itself, which no
      other process shares; nothing is stored
      """)

  @Option(
    help: """
      minimum remaining lifetime, e.g. 60s or 5m (capped at 80% of the token's lifetime), or what is left, if the server \
      does not answer
      """)
  var minValidity = Span(.zero)
  @Flag(
    name: .customLong("id-token"),
    help: "print the ID token of an OpenID Connect sign-in, for a service that asks for it")
  var isIDToken = false
  @OptionGroup var other: TargetOptions
  @Option(
    help: ArgumentHelp(
      "print the header fields of one request with a token bound to a key (RFC 9449)", valueName: "url"))
  var dpop: String?
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "nonce for --dpop, from the field DPoP-Nonce of the server's last response", valueName: "nonce"))
  var dpopNonce: String?
  @Option(name: [.customShort("X"), .long], help: "method of the request of --dpop") var method = "GET"
  @Flag(help: "print a JSON object with the header fields of a request")
  var asHeaders = false
  @OptionGroup var output: OutputOptions
  @OptionGroup var account: AccountOptions
  @OptionGroup(title: "Programs without users") var machine: MachineOptions

  struct Answer: Document, Decodable {
    var token: String
    /// `session`, `environment`, `agent` or `client`.
    var source: String
    var expiresAt: String?
    var expiresAtEpoch: Int64?
    /// The origin that requests with the token go to, as an agent says it.
    var server: String?

    init(_ handed: HandedToken, server: String? = nil) {
      token = handed.secret.withExposed { $0 }
      (source, self.server) = (handed.source, server)
      (expiresAt, expiresAtEpoch) = (handed.end?.description, handed.end?.seconds)
    }
  }

  /// The other API or scopes that were asked for; `nil` for the session's own.
  private func target() throws(CommandError) -> TokenTarget? {
    guard !asHeaders || !output.json else {
      throw CommandError(.usage, "--as-headers is JSON already", hint: "omit --json")
    }
    let target = try other.target()
    guard target == nil || !isIDToken else {
      throw CommandError(
        .usage, "an ID token is for its client alone", hint: "omit --id-token, or --resource, --scope and --audience")
    }
    return target
  }

  func perform(in installation: Installation) async throws {
    let target = try target()
    if let dpop { return try await prove(dpop, target, in: installation) }
    if let machine = try machine.machine(instead: account, for: target) {
      guard !isIDToken else {
        throw CommandError(.usage, "a program has no ID token: no user has signed in", hint: "omit --id-token")
      }
      return show(try await machine.handedToken(lasting: minValidity.duration))
    }
    if isIDToken { try EnvironmentToken.refuse(to: "--id-token") }
    if target != nil { try EnvironmentToken.refuse(to: "a token for another API") }
    if let given = try await HandedToken.current(account: account.account, lasting: minValidity.duration) {
      return show(given)
    }
    let client = try await installation.client(account)
    if isIDToken {
      let token = try await client.identityToken(minimumValidity: minValidity.duration)
      return show(HandedToken(secret: token.secret, end: token.lifetime.end))
    }
    if let target { return show(try await client.token(for: target, minimumValidity: minValidity.duration)) }
    show(try await client.handedToken(lasting: minValidity.duration, withEnd: output.json))
  }

  /// `handstamp token` without options: prints the token of ``HandedToken/current(account:lasting:)``, else of the active account.
  static func printCurrent() async throws {
    try await Installation.use { installation in
      var given = try await HandedToken.current()
      if given == nil { given = try await installation.client().handedToken(lasting: .zero, withEnd: false) }
      given?.secret.withExposed { Terminal.out($0) }
    }
  }

  /// Prints the fields of one request, valid for that request only.
  private func prove(_ url: String, _ target: TokenTarget?, in installation: Installation) async throws(CommandError) {
    guard target == nil, !isIDToken, !output.json, try machine.machine(instead: account, for: nil) == nil else {
      throw CommandError(
        .usage, "--dpop is for the session's own token",
        hint: "use it with --method, --dpop-nonce, --as-headers and --account alone")
    }
    guard Origin(url)?.isTrustworthy == true, method.allSatisfy({ $0.isASCII && $0.isLetter }), !method.isEmpty else {
      throw CommandError(
        .usage, "a proof is for one request, to an https URL or this machine",
        hint: "pass its URL, and --method POST if it is one")
    }
    try EnvironmentToken.refuse(to: "--dpop")
    let client = try await installation.client(account)
    let fields = try await client.provenFields(
      method.uppercased(), url, nonce: dpopNonce, minimumValidity: minValidity.duration)
    if asHeaders {
      return Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.value) }).writeJSON()
    }
    for field in fields { Terminal.out("\(field.name): \(field.value)") }
  }

  private func show(_ handed: HandedToken) {
    if output.json { return Answer(handed).writeLine() }
    handed.secret.withExposed { text in
      if asHeaders { return ["Authorization": "Bearer " + text].writeJSON() }
      Terminal.out(text)
    }
  }
}

extension AccountClient {
  /// Returns a valid access token for another program.
  ///
  /// - Parameter withEnd: Whether to read from the vault when it expires.
  func handedToken(lasting validity: Duration, withEnd: Bool = true) async throws(CommandError) -> HandedToken {
    let token = try await token(minimumValidity: validity)
    return HandedToken(secret: token.secret, end: withEnd ? await end(of: token) : nil)
  }

  /// Returns when `token` expires, by this device's wall clock, or `nil` if the vault does not know.
  func end(of token: AccessToken) async -> UnixTime? {
    guard let access = await vault.session?.access, access.token == token else { return nil }
    return access.lifetime?.end
  }
}

extension Lifetime {
  /// When it ends, by this device's wall clock.
  var end: UnixTime {
    let now = SystemClock().now()
    return now.wall.advanced(by: remaining(at: now))
  }
}

/// `--resource`, `--scope` and `--audience`: tokens for another API, or for less than the session was granted.
struct TargetOptions: ParsableArguments {
  @Option(help: "URI of the API that the token is for (RFC 8707)") var resource: String?
  @Option(help: "scopes of the token, separated by spaces") var scope: String?
  @Option(help: "name of the API that the token is for, where the server knows it by a name (RFC 8693)")
  var audience: String?

  /// The other API or scopes that were asked for; `nil` for the session's own.
  func target() throws(CommandError) -> TokenTarget? {
    guard [resource, scope, audience].contains(where: { $0 != nil }) else { return nil }
    let scopes = (scope ?? "").split(separator: " ").map(String.init)
    guard ![resource, audience].contains(""), scope == nil || !scopes.isEmpty else {
      throw CommandError(.usage, "--resource, --scope and --audience need a value", hint: "omit those that are empty")
    }
    return TokenTarget(scopes: scopes, resource: resource, audience: audience)
  }
}
#endif
