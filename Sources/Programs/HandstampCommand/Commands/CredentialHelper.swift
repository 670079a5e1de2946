#if Command
import ArgumentParser
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

struct CredentialHelper: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "credential-helper", abstract: "supply git, kubectl, docker, pip, cargo and others with tokens",
    discussion: """
      sends the token only to the account's own server and to the hosts named
      with --host, over https

        git config --global credential.https://git.example.org.helper \\
          "!handstamp credential-helper --host git.example.org"

      for git, get prints a token; store does nothing; erase makes the next get
      refresh the token, and keeps the session

      kubectl prints an ExecCredential with the ID token, or with --access-token
      the access token, for the exec section of a user in a kubeconfig
      (interactiveMode: IfAvailable)

      docker takes get, store, erase or list; for each registry that credHelpers
      in its config.json maps to NAME, docker runs docker-credential-NAME from
      the PATH, which can be a two-line script:

        #!/bin/sh
        exec handstamp credential-helper --host registry.example.org docker "$@"

      for a registry at the account's own server, a symbolic link from
      docker-credential-NAME to handstamp is enough

      keyring get URL USER does what Python's keyring does, for pip and uv with
      --keyring-provider subprocess; they run keyring from the PATH, which can be
      such a script or link, too

      cargo speaks cargo's protocol, for .cargo/config.toml:

        credential-provider = ["handstamp", "credential-helper", "cargo",
          "--host", "cargo.example.org"]

      aws exchanges the ID token for keys of --role-arn, for credential_process
      in ~/.aws/config; each time, since AWS's programs keep them
      """)

  @Argument(
    help: """
      get, store or erase (for git); kubectl; docker get, store, erase or list; keyring get; cargo; aws
      """)
  var action: [String]
  @Option(
    name: .customLong("host"),
    help: "host that may receive the token, on any port unless one is given (repeatable)")
  var hosts: [String] = []
  @Option(help: "user name to send with the token") var username = "oauth2"
  @Flag(name: .customLong("access-token"), help: "give kubectl the access token in place of the ID token")
  var sendsAccessToken = false
  @OptionGroup var role: RoleOptions
  @OptionGroup var keyring: KeyringOptions
  @OptionGroup var account: AccountOptions

  func perform(in installation: Installation) async throws {
    let hosts = try hosts.map { text throws(CommandError) in try NamedHost(text) }
    switch (action.first, action.count) {
    case ("kubectl", 1): try await answerKubectl(hosts, in: installation)
    case ("docker", 2): try await answerDocker(action[1], hosts, in: installation)
    case ("keyring", _): try await answerKeyring(Array(action.dropFirst()), hosts, in: installation)
    case ("cargo", 1): try await answerCargo(hosts, in: installation)
    case ("aws", 1): try await answerAWS(in: installation)
    case ("docker", _), ("kubectl", _), (_, 2...), (nil, _):
      throw CommandError(
        .usage, "unknown action \"\(action.joined(separator: " ").onOneLine)\"",
        hint: "use one of: get, store, erase, kubectl, docker get, docker store, docker erase, docker list, "
          + "keyring get, cargo, aws")
    // Git passes its action alone, and later versions may add new ones.
    case (let action?, _): try await answerGit(action, hosts, in: installation)
    }
  }

  /// How long a token must last, as `token --min-validity` has it: at most four fifths of its lifetime, or what is left if the server
  /// brings no other. Most programs keep it until it expires, and ask again then.
  static let margin = Duration.seconds(60)

  /// Returns a token that lasts for ``margin``; `nil` if it is not for the address that a program asks about.
  ///
  /// - Parameter isAllowed: whether that address may have it, which the account's own server always may.
  func token(
    in installation: Installation, _ isAllowed: (_ own: ServerAddress?) -> Bool
  ) async throws(CommandError) -> HandedToken? {
    if HandedToken.isSet {
      return isAllowed(nil) ? try await HandedToken.current(lasting: CredentialHelper.margin) : nil
    }
    guard isAllowed(await own(in: installation)) else { return nil }
    return try await installation.client(account).handedToken(lasting: CredentialHelper.margin)
  }

  /// The account's own server; `nil` without an account: most addresses are other helpers' business, and need none to say so.
  func own(in installation: Installation) async -> ServerAddress? {
    try? await installation.knownAccounts().account(account.named).serverAddress
  }
}

// MARK: git

extension CredentialHelper {
  private enum GitAction: String { case get, store, erase }

  private func answerGit(
    _ action: String, _ hosts: [NamedHost], in installation: Installation
  ) async throws {
    let text = Result { () throws(CommandError) in try HelperInput.all() }
    // Git requires helpers to ignore actions they do not know.
    guard let action = GitAction(rawValue: action), action != .store else { return }
    let request = try CredentialRequest(text.get())
    if action == .erase, let agent = try AgentClient.current() {
      // A program that asks again gets the token that replaced this one.
      if let refused = request.password { _ = try await agent.token(replacing: AccessToken(refused)) }
      return
    }
    if HandedToken.isSet {
      guard action == .get else { return }
      guard request.isFor(hosts, own: nil) else { return request.sayNoToken() }
      guard let given = try await HandedToken.current(lasting: CredentialHelper.margin) else { return }
      return given.secret.withExposed { show($0, until: given.end, for: request) }
    }
    let client = try await installation.client(account, minimumAge: .zero)
    guard request.isFor(hosts, own: client.server) else {
      if action == .get { request.sayNoToken() }
      return
    }
    switch action {
    case .get:
      let given = try await client.handedToken(lasting: CredentialHelper.margin)
      given.secret.withExposed { show($0, until: given.end, for: request) }
    case .erase:
      // A server rejected the token; a newer one may work. Whatever the outcome, this does not sign out.
      guard let refused = request.password, let current = await client.storedAccess()?.token,
        current == AccessToken(refused)
      else { return }
      do throws(SessionError) {
        _ = try await client.waiting { () async throws(SessionError) in
          try await client.controller.token(replacing: current)
        }
      } catch {
        throw await client.refusal(ofRefresh: error)
      }
    case .store: return
    }
  }

  private func show(_ token: String, until end: UnixTime?, for request: CredentialRequest) {
    if request.knowsKinds {
      Terminal.out("capability[]=authtype")
      Terminal.out("authtype=Bearer")
      Terminal.out("credential=\(token)")
    } else {
      Terminal.out("username=\(username)")
      Terminal.out("password=\(token)")
    }
    if let end { Terminal.out("password_expiry_utc=\(end.seconds)") }
    // No other helper needs to be asked.
    Terminal.out("quit=1")
  }
}

/// A request from git: `name=value` lines, up to an empty line (git-credential(1)).
struct CredentialRequest {
  private var values: [String: String] = [:]
  /// Whether git accepts a token as such (git 2.46), and not only as a password.
  private(set) var knowsKinds = false

  /// - Throws: A refusal of text that is no such request. A request without a host is one, as for the password of a certificate.
  init(_ text: String) throws(CommandError) {
    guard text.isEmpty || text.hasSuffix("\n") else { throw HelperInput.isCut }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.isEmpty { break }
      guard let equals = line.firstIndex(of: "=") else { continue }
      let (name, value) = (String(line[..<equals]), String(line[line.index(after: equals)...]))
      if name == "capability[]", value == "authtype" { knowsKinds = true }
      values[name] = value
    }
    guard values["protocol"] != nil else {
      throw CommandError(
        .usage, "stdin is not a request of git",
        hint: "let git run it, or pipe in lines such as protocol=https and host=HOST")
    }
  }

  var password: String? { values["credential"] ?? values["password"] }

  func isFor(_ hosts: [NamedHost], own: ServerAddress?) -> Bool {
    destination?.isAllowed(hosts, own: own) ?? false
  }

  private var destination: TokenDestination? {
    guard let scheme = values["protocol"], let host = values["host"] else { return nil }
    return TokenDestination("\(scheme)://\(host)")
  }

  /// Tells the user why git gets no token. Git itself asks the next helper, or the user.
  func sayNoToken() {
    guard let host = values["host"] else { return }
    Terminal.say("the token is not for \(host)")
    Terminal.say("hint: \(destination == nil ? "use https" : "add --host \(shellWord(host))")")
  }
}

/// `handstamp credential-helper docker`: the protocol of docker-credential-helpers. Docker shows users the helper's stdout,
/// even if the helper fails.
extension CredentialHelper {
  private struct Credentials: Codable {
    var ServerURL: String
    var Username: String
    var Secret: String
  }

  /// Docker recognizes this exact text, and then tries the registry without credentials.
  private static let notFound = "credentials not found in native keychain"

  func answerDocker(_ action: String, _ hosts: [NamedHost], in installation: Installation) async throws {
    switch action {
    case "get":
      do {
        try await getForDocker(
          HelperInput.all().trimmed, hosts, in: installation)
      } catch let refusal as CommandError {
        Terminal.out("\(refusal.message.onOneLine); \(refusal.hint.onOneLine)")
        throw refusal
      }
    case "store": try await storeForDocker(hosts, in: installation)
    case "erase":
      // docker logout concerns one registry; the session may serve others.
      _ = try HelperInput.all()
    case "list":
      let listed = hosts.map { ($0.text, username) }
      Dictionary(listed) { first, _ in first }.writeJSON()
    case "version": Terminal.out("docker-credential-handstamp \(CommandProgram.version)")
    default:
      throw CommandError(
        .usage, "unknown docker action \"\(action.onOneLine)\"", hint: "use get, store, erase or list")
    }
  }

  private func getForDocker(
    _ server: String, _ hosts: [NamedHost], in installation: Installation
  ) async throws {
    guard !server.isEmpty else {
      throw CommandError(.usage, "no server URL on stdin", hint: "pipe it in, as docker does: echo URL | handstamp …")
    }
    guard server.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw CommandError(
        .usage, "stdin is not a server URL", hint: "pipe it in alone, as docker does: echo URL | handstamp …")
    }
    // A list of accounts that cannot be read is no reason to try the registry without credentials.
    if !HandedToken.isSet { _ = try await installation.knownAccounts() }
    let given = try await token(in: installation) { TokenDestination.isAllowed(server, hosts, own: $0) }
    guard let given else {
      Terminal.out(CredentialHelper.notFound)
      throw ExitCode(1)
    }
    given.secret.withExposed {
      Credentials(ServerURL: server, Username: username, Secret: $0).writeJSON()
    }
  }

  /// Handles the credentials that docker login asks to store. For served registries they are the token itself, or whatever the
  /// user typed in its place.
  private func storeForDocker(_ hosts: [NamedHost], in installation: Installation) async throws {
    let text = try HelperInput.all()
    guard let asked = try? JSONDecoder().decode(Credentials.self, from: Data(text.utf8)) else {
      throw CommandError(.usage, "cannot parse the credentials on stdin", hint: "pipe them in as JSON, as docker does")
    }
    guard await !TokenDestination.isAllowed(asked.ServerURL, hosts, own: own(in: installation)) else { return }
    let refusal = CommandError(
      .failure, "cannot store credentials for \(asked.ServerURL.onOneLine)",
      hint: "configure another helper for that registry, under credHelpers in docker's config.json")
    Terminal.out("\(refusal.message); \(refusal.hint)")
    throw refusal
  }
}

/// `handstamp credential-helper keyring`: the command line of Python's keyring, as pip and uv run it: `keyring get URL USERNAME`, and
/// `keyring --mode creds --output json get URL [USERNAME]`.
extension CredentialHelper {
  func answerKeyring(_ words: [String], _ hosts: [NamedHost], in installation: Installation) async throws {
    switch (words.first, words.count) {
    case ("get", 2), ("get", 3):
      try await getForKeyring(words[1], words.count == 3 ? words[2] : username, hosts, in: installation)
    case ("set", 3):
      // pip asks to store a password that the user typed. Nothing but the session is kept here.
      guard await !TokenDestination.isAllowed(words[1], hosts, own: own(in: installation)) else { return }
      throw CommandError(
        .failure, "cannot store a password for \(CredentialHelper.host(of: words[1]) ?? "this address")",
        hint: "put it into the netrc file, or pass --keyring-provider disabled for that index")
    case ("del", 3):
      // The session may serve others.
      return
    default:
      throw CommandError(
        .usage, "unknown keyring command \"\(words.joined(separator: " ").onOneLine)\"",
        hint: "use get URL USERNAME, or --mode creds get URL, as pip and uv do")
    }
  }

  private func getForKeyring(
    _ service: String, _ user: String, _ hosts: [NamedHost], in installation: Installation
  ) async throws {
    let given = try await token(in: installation) { TokenDestination.isAllowed(service, hosts, own: $0) }
    guard let given else {
      throw CommandError(
        .failure, "the token is not for \(CredentialHelper.host(of: service) ?? "this address")",
        hint: CredentialHelper.hint(for: service))
    }
    given.secret.withExposed { show($0, for: user) }
  }

  private func show(_ token: String, for user: String) {
    guard keyring.mode == "creds" else { return Terminal.out(token) }
    guard keyring.output == "json" else { return Terminal.out("\(user)\n\(token)") }
    ["username": user, "password": token].writeJSON()
  }

  private static func hint(for service: String) -> String {
    guard let host = host(of: service) else { return "use a URL, such as https://pypi.example.org/simple/" }
    let isInClear = service.contains("://") && !service.lowercased().hasPrefix("https://")
    return isInClear && TokenDestination(service) == nil ? "use https" : "add --host \(shellWord(host))"
  }

  /// The host of a URL without its user and password, for messages; `nil` if there is none.
  static func host(of address: String) -> String? {
    let host = URLComponents(string: address.contains("://") ? address : "https://" + address)?.host ?? ""
    // A host name has at most 253 characters.
    return host.isEmpty || host.utf8.count > 253 ? nil : host.onOneLine
  }
}

/// Options of the command that this one stands in for.
struct KeyringOptions: ParsableArguments {
  @Option(help: .hidden) var mode = "password"
  @Option(help: .hidden) var output = "plain"
}
#endif
