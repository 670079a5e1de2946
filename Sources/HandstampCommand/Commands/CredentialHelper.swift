#if Programs
import ArgumentParser
import Foundation
import Handstamp
import HandstampCore
import HandstampVaults

/// `handstamp credential-helper`.
struct CredentialHelper: SessionCommand {
  static let configuration = CommandConfiguration(
    abstract: "gives git, kubectl and docker a token that works, each in its own protocol",
    discussion: """
      the token goes to the account's own server, and to the hosts that are named, over https alone

        git config credential.https://git.example.org.helper "!handstamp credential-helper --host git.example.org"

      get answers git with a token; store keeps nothing; erase makes the next get refresh that token, and ends no session

      kubectl prints an ExecCredential, for the exec section of a user in a kubeconfig (interactiveMode: IfAvailable)

      docker takes get, store, erase or list. Docker looks for a program docker-credential-NAME in the PATH, for each
      registry that credHelpers in its config.json gives to NAME; two lines make one:

        #!/bin/sh
        exec handstamp credential-helper --host registry.example.org docker "$@"

      a symbolic link docker-credential-NAME to handstamp does the same for a registry at the account's own server
      """)

  /// What asks. Of git, whose actions stand alone, later versions may invent more.
  enum Asking: Sendable, Hashable {
    case git(String)
    case kubectl
    case docker(String)
  }

  @Argument(help: "get, store or erase (for git); kubectl; docker get, store, erase or list") var action: [String]
  @Option(
    name: .customLong("host"),
    help: "a host that the token may go to, with a port or for all of its ports; may be given again")
  var hosts: [String] = []
  @Option(help: "the user name that goes with the token") var username = "oauth2"
  @OptionGroup var account: AccountOptions

  /// The arguments of a program that was started under one of docker's names for a credential helper.
  static func arranged(_ arguments: [String], program: String) -> [String] {
    let name = program.split(separator: "/").last ?? ""
    return name.hasPrefix("docker-credential-") ? ["credential-helper", "docker"] + arguments : arguments
  }

  func perform() async throws {
    let hosts = try hosts.map { text throws(Refusal) in try NamedHost(text) }
    switch try asking() {
    case .git(let action): try await answerGit(action, hosts)
    case .kubectl: try await answerKubectl(hosts)
    case .docker(let action): try await answerDocker(action, hosts)
    }
  }

  private func asking() throws(Refusal) -> Asking {
    switch (action.first, action.count) {
    case ("kubectl", 1): return .kubectl
    case ("docker", 2): return .docker(action[1])
    case ("docker", _), ("kubectl", _), (_, 2...), (nil, _):
      throw Refusal(
        .usage, "what is asked for is not clear: \(action.joined(separator: " ").onOneLine)",
        hint: "write one of: get, store, erase, kubectl, docker get, docker store, docker erase, docker list")
    case (let action?, _): return .git(action)
    }
  }

  /// A token that serves for a while, with its end where that is known.
  func token(of client: Client, lasting validity: Duration) async throws(Refusal) -> (AccessToken, UnixTime?) {
    let token = try await client.token(minimumValidity: validity)
    return (token, await client.end(of: token))
  }
}

// MARK: git

extension CredentialHelper {
  private enum GitAction: String { case get, store, erase }

  private func answerGit(_ action: String, _ hosts: [NamedHost]) async throws {
    let request = CredentialRequest(Terminal.input())
    // Of actions that later versions of git invent, nothing is known; git wants them ignored.
    guard let action = GitAction(rawValue: action), action != .store else { return }
    if let token = EnvironmentToken.current {
      guard action == .get, request.isFor(hosts, own: nil) else { return }
      return token.secret.withExposed { show($0, until: nil, for: request) }
    }
    let client = try await Client.chosen(account, minimumAge: .zero)
    guard request.isFor(hosts, own: client.server) else { return }
    switch action {
    case .get:
      let (token, end) = try await token(of: client, lasting: .seconds(30))
      token.secret.withExposed { show($0, until: end, for: request) }
    case .erase:
      // A server refused it: a newer one may do. Whatever comes of that, nothing is signed out here.
      guard let refused = request.password, let current = await client.storedToken(),
        current == AccessToken(refused)
      else { return }
      do throws(SessionError) { _ = try await client.controller.token(insteadOf: current) } catch {
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
    // A later helper has nothing better.
    Terminal.out("quit=1")
  }
}

/// What git asks for: lines of name and value, up to an empty one (git-credential(1)).
struct CredentialRequest {
  private var values: [String: String] = [:]
  /// Whether git takes a token as what it is (git 2.46), and not as a password alone.
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
    guard let scheme = values["protocol"], let host = values["host"] else { return false }
    return TokenDestination("\(scheme)://\(host)")?.isAllowed(hosts, own: own) ?? false
  }
}
#endif
