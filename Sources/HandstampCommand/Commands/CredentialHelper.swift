#if Command
import ArgumentParser
import Foundation
import Handstamp
import HandstampCore
import HandstampVaults

/// `handstamp credential-helper`.
struct CredentialHelper: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "credential-helper", abstract: "supply git, kubectl and docker with tokens from the current session",
    discussion: """
      sends the token only to the account's own server and to the hosts named
      with --host, over https

        git config --global credential.https://git.example.org.helper \\
          "!handstamp credential-helper --host git.example.org"

      for git, get prints a token; store does nothing; erase makes the next get
      refresh the token, and keeps the session

      kubectl prints an ExecCredential, for the exec section of a user in a
      kubeconfig (interactiveMode: IfAvailable)

      docker takes get, store, erase or list; for each registry that credHelpers
      in its config.json maps to NAME, docker runs docker-credential-NAME from
      the PATH, which can be a two-line script:

        #!/bin/sh
        exec handstamp credential-helper --host registry.example.org docker "$@"

      for a registry at the account's own server, a symbolic link from
      docker-credential-NAME to handstamp is enough
      """)

  /// The calling program and its action. Git passes its action alone, and later versions may add new ones.
  enum Asking: Sendable, Hashable {
    case git(String)
    case kubectl
    case docker(String)
  }

  @Argument(help: "get, store or erase (for git); kubectl; docker get, store, erase or list") var action: [String]
  @Option(
    name: .customLong("host"),
    help: "host that may receive the token, on any port unless one is given (repeatable)")
  var hosts: [String] = []
  @Option(help: "user name to send with the token") var username = "oauth2"
  @OptionGroup var account: AccountOptions

  /// Returns the arguments to parse, for a program that may have been started as `docker-credential-NAME`.
  static func arranged(_ arguments: [String], program: String) -> [String] {
    let name = program.split(separator: "/").last ?? ""
    return name.hasPrefix("docker-credential-") ? ["credential-helper", "docker"] + arguments : arguments
  }

  func perform() async throws {
    let hosts = try hosts.map { text throws(CommandError) in try NamedHost(text) }
    switch try asking() {
    case .git(let action): try await answerGit(action, hosts)
    case .kubectl: try await answerKubectl(hosts)
    case .docker(let action): try await answerDocker(action, hosts)
    }
  }

  private func asking() throws(CommandError) -> Asking {
    switch (action.first, action.count) {
    case ("kubectl", 1): return .kubectl
    case ("docker", 2): return .docker(action[1])
    case ("docker", _), ("kubectl", _), (_, 2...), (nil, _):
      throw CommandError(
        .usage, "unknown action \"\(action.joined(separator: " ").onOneLine)\"",
        hint: "use one of: get, store, erase, kubectl, docker get, docker store, docker erase, docker list")
    case (let action?, _): return .git(action)
    }
  }

  /// Returns a token that stays valid for at least `validity`, and its expiry if known.
  func token(of client: AccountClient, lasting validity: Duration) async throws(CommandError) -> (
    AccessToken, UnixTime?
  ) {
    let token = try await client.token(minimumValidity: validity)
    return (token, await client.end(of: token))
  }
}

// MARK: git

extension CredentialHelper {
  private enum GitAction: String { case get, store, erase }

  private func answerGit(_ action: String, _ hosts: [NamedHost]) async throws {
    let request = CredentialRequest(Terminal.input())
    // Git requires helpers to ignore actions they do not know.
    guard let action = GitAction(rawValue: action), action != .store else { return }
    if let token = EnvironmentToken.current {
      guard action == .get else { return }
      guard request.isFor(hosts, own: nil) else { return request.sayNoToken() }
      return token.secret.withExposed { show($0, until: nil, for: request) }
    }
    let client = try await AccountClient.chosen(account, minimumAge: .zero)
    guard request.isFor(hosts, own: client.server) else {
      if action == .get { request.sayNoToken() }
      return
    }
    switch action {
    case .get:
      let (token, end) = try await token(of: client, lasting: .seconds(30))
      token.secret.withExposed { show($0, until: end, for: request) }
    case .erase:
      // A server rejected the token; a newer one may work. Whatever the outcome, this does not sign out.
      guard let refused = request.password, let current = await client.storedToken(),
        current == AccessToken(refused)
      else { return }
      do throws(SessionError) {
        _ = try await client.waiting { () async throws(SessionError) in
          try await client.controller.token(replacing: current)
        }
      } catch {
        throw await client.refusal(ofRefresh: error)
      }
      await client.settle()
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

  init(_ text: String) {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.isEmpty { break }
      guard let equals = line.firstIndex(of: "=") else { continue }
      let (name, value) = (String(line[..<equals]), String(line[line.index(after: equals)...]))
      if name == "capability[]", value == "authtype" { knowsKinds = true }
      values[name] = value
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
#endif
