#if Programs
import Foundation

/// A host that `--host` names: a token may go there.
struct NamedHost: Sendable, Hashable {
  /// Lowercased; an IPv6 address in its brackets.
  let name: String
  /// `nil`: any port.
  let port: Int?

  init(_ text: String) throws(Refusal) {
    let parts = URLComponents(string: "https://" + text)
    guard let parts, let host = parts.host?.lowercased(), !host.isEmpty, parts.path.isEmpty, parts.user == nil,
      parts.query == nil, parts.fragment == nil, !text.contains("/"),
      parts.port.map({ (1...65_535).contains($0) }) ?? true
    else {
      throw Refusal(
        .usage, "--host takes no \(text.onOneLine)",
        hint: "write a host without scheme and path, such as git.example.org or git.example.org:8443")
    }
    name = host
    port = parts.port
  }

  /// As it was written.
  var text: String { port.map { "\(name):\($0)" } ?? name }
}

/// An address that a token is asked for.
struct TokenDestination: Sendable, Hashable {
  private let scheme: String
  private let host: String
  private let port: Int

  /// `nil` for anything but `https`, and `http` on this very machine: a token would go over the network for all to read.
  init?(_ address: String) {
    guard let parts = URLComponents(string: address), let scheme = parts.scheme?.lowercased(),
      let host = parts.host?.lowercased(), !host.isEmpty, parts.user == nil
    else { return nil }
    let isLocal = ["127.0.0.1", "localhost", "::1", "[::1]"].contains(host)
    guard scheme == "https" || scheme == "http" && isLocal else { return nil }
    self.scheme = scheme
    self.host = host
    port = parts.port ?? (scheme == "https" ? 443 : 80)
  }

  /// Whether it is one of `hosts`, or of the account's own origin.
  func isAllowed(_ hosts: [NamedHost], own: ServerAddress?) -> Bool {
    if hosts.contains(where: { $0.name == host && ($0.port ?? port) == port }) { return true }
    let bracketed = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    return own?.covers("\(scheme)://\(bracketed):\(port)/") ?? false
  }
}
#endif
