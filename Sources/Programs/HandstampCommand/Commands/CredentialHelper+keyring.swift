#if Command
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore

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
