#if Operator
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampServer

/// The options of `handstamp-server admin clients add` for a client without users.
struct MachineAccess: ParsableArguments {
  @Flag(help: "for a program without users: it gets tokens for itself") var machine = false
  @Option(help: ArgumentHelp("its public key, instead of a secret: PEM, or a JWK Set", valueName: "file"))
  var publicKey: String?
  @Option(help: ArgumentHelp("issuer of the ID tokens of a CI, instead of a secret", valueName: "url"))
  var trustIssuer: String?
  @Option(help: ArgumentHelp("aud of these ID tokens (default: the client ID)", valueName: "audience"))
  var trustAudience: String?
  @Option(
    name: .customLong("trust-claim"),
    help: ArgumentHelp("claim that they must have, such as repository=a/b; may be repeated", valueName: "name=value"))
  var trustClaims: [String] = []

  /// Whether the client has no secret, because it authenticates itself otherwise.
  var replacesSecret: Bool { publicKey != nil || trustIssuer != nil }

  /// Adds the settings to the entry of a client.
  func add(to entry: inout [String: Any], id: String) throws(CommandError) {
    if let publicKey { entry["jwks"] = try keys(in: publicKey) }
    guard machine else {
      guard trustIssuer == nil, trustAudience == nil, trustClaims.isEmpty else {
        throw CommandError(.usage, "--trust-issuer is for clients without users", hint: "add --machine")
      }
      return
    }
    guard let trustIssuer else {
      guard trustAudience == nil, trustClaims.isEmpty else {
        throw CommandError(
          .usage, "--trust-audience and --trust-claim need an issuer",
          hint: "add --trust-issuer https://token.actions.githubusercontent.com")
      }
      entry["flows"] = [ConfiguredClient.Flow.credentials.rawValue]
      return
    }
    entry["flows"] =
      [ConfiguredClient.Flow.assertion.rawValue]
      + (publicKey == nil ? [] : [ConfiguredClient.Flow.credentials.rawValue])
    entry["trusts"] = [
      ["issuer": trustIssuer, "audience": trustAudience ?? id, "claims": try claims()] as [String: Any]
    ]
  }

  private func claims() throws(CommandError) -> [String: String] {
    var claims: [String: String] = [:]
    for text in trustClaims {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
        throw CommandError(
          .usage, "invalid --trust-claim \"\(text.onOneLine)\"", hint: "write it as --trust-claim repository=owner/name"
        )
      }
      claims[parts[0]] = parts[1]
    }
    guard !claims.isEmpty else {
      throw CommandError(
        .usage, "without a claim, every job of that CI could get tokens",
        hint: "add --trust-claim repository=owner/name, or project_path=group/name at GitLab")
    }
    return claims
  }

  private func keys(in path: String) throws(CommandError) -> Any {
    guard let content = FileManager.default.contents(atPath: path), content.count <= 64 << 10 else {
      throw CommandError(.failure, "cannot read \(path)", hint: "pass a file that you can read")
    }
    let text = String(decoding: content, as: UTF8.self)
    guard let set = ConfiguredClient.keySet(text), let object = try? JSONSerialization.jsonObject(with: Data(set.utf8))
    else {
      throw CommandError(
        .usage, "\(path): not a public key for P-256 or RSA",
        hint: "make one with: openssl pkey -in client.pem -pubout -out client.pub")
    }
    return object
  }
}
#endif
