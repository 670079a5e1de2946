#if Command
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampSupport

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
    if !HandedToken.isSet { _ = try await installation.book() }
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
#endif
