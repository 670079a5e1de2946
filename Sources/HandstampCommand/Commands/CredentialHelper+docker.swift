#if Programs
import ArgumentParser
import Foundation
import HandstampCore

/// `handstamp credential-helper docker`: the protocol of docker-credential-helpers. Docker shows its users what such a program
/// prints to stdout, also when it fails.
extension CredentialHelper {
  private struct Credentials: Codable {
    var ServerURL: String
    var Username: String
    var Secret: String
  }

  /// By these very words docker knows that a registry may be asked without credentials.
  private static let notFound = "credentials not found in native keychain"

  func answerDocker(_ action: String, _ hosts: [NamedHost]) async throws {
    switch action {
    case "get":
      do {
        try await getForDocker(Terminal.input().trimmingCharacters(in: .whitespacesAndNewlines), hosts)
      } catch let refusal as Refusal {
        Terminal.out("\(refusal.message.onOneLine); \(refusal.hint.onOneLine)")
        throw refusal
      }
    case "store": try await storeForDocker(hosts)
    case "erase":
      // docker logout: it means the registry, and the session may serve others.
      _ = Terminal.input()
    case "list":
      let listed = hosts.map { ($0.text, username) }
      try answer(Dictionary(listed) { first, _ in first })
    case "version": Terminal.out("docker-credential-handstamp \(HandstampTool.version)")
    default:
      throw Refusal(
        .usage, "docker's credential helpers know no \(action.onOneLine)", hint: "write get, store, erase or list")
    }
  }

  private func getForDocker(_ server: String, _ hosts: [NamedHost]) async throws {
    guard !server.isEmpty else {
      throw Refusal(.usage, "no server URL is on stdin", hint: "docker writes it there: echo URL | handstamp …")
    }
    if let token = EnvironmentToken.current {
      guard CredentialHelper.isServed(server, hosts, own: nil) else { try leaveNotFound() }
      return try token.secret.withExposed { try show($0, for: server) }
    }
    // Most registries are served by other helpers: that is found out without an account.
    let book = try await AccountBook(of: try Home.current())
    let own = try? account.chosen(book).server
    guard CredentialHelper.isServed(server, hosts, own: own) else { try leaveNotFound() }
    let (token, _) = try await token(of: Client.chosen(account), lasting: .seconds(60))
    try token.secret.withExposed { try show($0, for: server) }
  }

  /// What docker login wants kept. For the served registries that is the token itself, or what the user typed in its place.
  private func storeForDocker(_ hosts: [NamedHost]) async throws {
    let text = Terminal.input()
    guard let asked = try? JSONDecoder().decode(Credentials.self, from: Data(text.utf8)) else {
      throw Refusal(.usage, "the credentials on stdin are not readable", hint: "docker writes them there as JSON")
    }
    let own = try? account.chosen(try await AccountBook(of: try Home.current())).server
    guard !CredentialHelper.isServed(asked.ServerURL, hosts, own: own) else { return }
    let refusal = Refusal(
      .failure, "passwords for \(asked.ServerURL.onOneLine) are not kept here",
      hint: "give that registry another helper in credHelpers of docker's config.json")
    Terminal.out("\(refusal.message); \(refusal.hint)")
    throw refusal
  }

  /// Docker writes registries with a scheme or without one, which then is https, and on this machine may be http.
  private static func isServed(_ server: String, _ hosts: [NamedHost], own: ServerAddress?) -> Bool {
    let addresses = server.contains("://") ? [server] : ["https://" + server, "http://" + server]
    return addresses.contains { TokenDestination($0)?.isAllowed(hosts, own: own) ?? false }
  }

  private func leaveNotFound() throws -> Never {
    Terminal.out(CredentialHelper.notFound)
    throw ExitCode(1)
  }

  private func show(_ token: String, for server: String) throws {
    try answer(Credentials(ServerURL: server, Username: username, Secret: token))
  }

  private func answer(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    Terminal.out(String(decoding: try encoder.encode(value), as: UTF8.self))
  }
}
#endif
