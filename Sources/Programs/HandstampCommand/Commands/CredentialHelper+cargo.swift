#if Command
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore

/// `handstamp credential-helper cargo`: version 1 of cargo's credential provider protocol, one line of JSON for each message (The
/// Cargo Book, Credential Provider Protocol). Cargo runs the program with `--cargo-plugin`, and the arguments of its configuration come
/// with each request.
extension CredentialHelper {
  private struct Request: Decodable {
    struct Registry: Decodable {
      var url: String
      enum CodingKeys: String, CodingKey { case url = "index-url" }
    }
    var v: Int
    var kind: String
    var registry: Registry
    var args: [String]?
  }

  private static func refuse(_ kind: String, _ message: String? = nil, causes: [String]? = nil) {
    let answer: JSONObject = ["kind": kind, "message": message, "caused-by": causes]
    ["Err": answer].writeJSON()
  }

  func answerCargo(_ hosts: [NamedHost], in installation: Installation) async throws {
    Terminal.out(#"{"v":[1]}"#)
    var (lines, count) = (HelperInput.Lines(), 0)
    while let line = try lines.next() {
      guard let request = try? JSONDecoder().decode(Request.self, from: Data(line.utf8)) else {
        throw CommandError(
          .usage, "stdin is not a request of cargo",
          hint: "name this command as credential-provider in .cargo/config.toml")
      }
      guard request.v == 1 else {
        throw CommandError(
          .usage, "unsupported version of cargo's protocol: \(request.v)",
          hint: #"use cargo:token-from-stdout, with "handstamp", "token", as the credential-provider"#)
      }
      count += 1
      do throws(CommandError) {
        let (asked, more) = try await arguments(of: request)
        try await asked.answer(request, hosts + more, in: installation)
      } catch {
        // Cargo shows it, unless the program fails as well.
        CredentialHelper.refuse("other", error.message, causes: ["hint: " + error.hint])
      }
    }
    guard count > 0 else {
      throw CommandError(
        .usage, "no request on stdin", hint: "name this command as credential-provider in .cargo/config.toml")
    }
  }

  /// The options in cargo's configuration, which it does not pass on the command line.
  private func arguments(of request: Request) async throws(CommandError) -> (CredentialHelper, [NamedHost]) {
    var words = request.args ?? []
    guard !words.isEmpty else { return (self, []) }
    if words.first == CredentialHelper.configuration.commandName { words.removeFirst() }
    if !words.contains("cargo") { words.insert("cargo", at: 0) }
    guard let asked = try? await CredentialHelper.asyncParse(words), asked.action == ["cargo"] else {
      throw CommandError(
        .usage, "cannot parse the arguments of the credential-provider",
        hint: #"use: credential-provider = ["handstamp", "credential-helper", "cargo", "--host", "HOST"]"#)
    }
    return (asked, try asked.hosts.map { text throws(CommandError) in try NamedHost(text) })
  }

  private func answer(
    _ request: Request, _ hosts: [NamedHost], in installation: Installation
  ) async throws(CommandError) {
    guard request.kind == "get" else { return CredentialHelper.refuse("operation-not-supported") }
    // "sparse+https://host/index/"; that of a git repository has no prefix.
    let parts = request.registry.url.split(separator: "+", maxSplits: 1)
    let index = ["sparse", "registry"].contains(parts.first) ? String(parts.last ?? "") : request.registry.url
    let given = try await token(in: installation) { TokenDestination(index)?.isAllowed(hosts, own: $0) ?? false }
    guard let given else { return CredentialHelper.refuse("url-not-supported") }
    given.secret.withExposed { token in
      let answer: JSONObject = [
        "kind": "get", "token": token, "cache": given.end == nil ? "never" : "expires",
        "expiration": given.end?.seconds, "operation_independent": true,
      ]
      ["Ok": answer].writeJSON()
    }
  }
}
#endif
