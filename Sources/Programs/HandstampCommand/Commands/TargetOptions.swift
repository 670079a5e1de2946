#if Command
import ArgumentParser
import HandstampCommandLine
import HandstampCore

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
