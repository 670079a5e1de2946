#if Programs
import ArgumentParser
import Foundation
import Handstamp
import HandstampCore
import HandstampVaults

/// `handstamp credential-helper`.
struct CredentialHelper: SessionCommand {
  static let configuration = CommandConfiguration(
    abstract: "gives git, and what speaks git's credential protocol, a token that works",
    discussion: """
      the token goes to the account's own server, and to the hosts that are named, over https alone

        git config credential.https://git.example.org.helper "!handstamp credential-helper --host git.example.org"

      get answers with a token; store keeps nothing; erase makes the next get refresh that token, and signs nobody out
      """)

  enum Action: String, ExpressibleByArgument, CaseIterable { case get, store, erase }

  @Argument(help: "get, store or erase") var action: String
  @Option(name: .customLong("host"), help: "a host that the token may go to, as git names it; may be given again")
  var hosts: [String] = []
  @Option(help: "the user name that goes with the token") var username = "oauth2"
  @OptionGroup var account: AccountOptions

  func perform() async throws {
    let request = CredentialRequest(Terminal.input())
    // Of actions that later versions of git invent, nothing is known; git wants them ignored.
    guard let action = Action(rawValue: action), action != .store else { return }
    if let token = EnvironmentToken.current {
      guard action == .get, request.isFor(hosts, own: nil) else { return }
      return token.secret.withExposed { show($0, until: nil, for: request) }
    }
    let client = try await Client.chosen(account, minimumAge: .zero)
    guard request.isFor(hosts, own: client.server) else { return }
    switch action {
    case .get:
      let token = try await client.token(minimumValidity: .seconds(30))
      let end = await client.end(of: token)
      token.secret.withExposed { show($0, until: end, for: request) }
    case .erase:
      // Somebody refused it: a newer one may do. Whatever comes of that, nobody is signed out here.
      guard let refused = request.password, let current = await client.storedToken(),
        current == AccessToken(refused)
      else { return }
      do throws(SessionError) { _ = try await client.controller.token(insteadOf: current) } catch {
        throw Refusal(error, account: client.account)
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

  /// Whether a token may go there: over `https`, or on this very machine; to a named host, or the account's own origin.
  func isFor(_ hosts: [String], own: ServerAddress?) -> Bool {
    guard let scheme = values["protocol"], let host = values["host"]?.lowercased() else { return false }
    let name = host.hasPrefix("[") ? host : String(host.prefix { $0 != ":" })
    guard scheme == "https" || (scheme == "http" && ["127.0.0.1", "localhost"].contains(name)) else { return false }
    if hosts.contains(where: { $0.lowercased() == host }) { return true }
    return own?.covers("\(scheme)://\(host)/") ?? false
  }
}
#endif
