#if Command
import Foundation
import HandstampCommandLine
import HandstampSupport

/// A host named with `--host`, which may receive tokens.
struct NamedHost: Sendable, Hashable {
  /// Lowercased; an IPv6 address in its brackets.
  let name: String
  /// `nil` allows any port.
  let port: Int?

  init(_ text: String) throws(CommandError) {
    let parts = URLComponents(string: "https://" + text)
    guard let parts, let host = parts.host?.lowercased(), !host.isEmpty, parts.path.isEmpty, parts.user == nil,
      parts.query == nil, parts.fragment == nil, !text.contains("/"),
      parts.port.map({ (1...65_535).contains($0) }) ?? true
    else {
      throw CommandError(
        .usage, "invalid --host \"\(text.onOneLine)\"",
        hint: "use a host without scheme and path, such as git.example.org or git.example.org:8443")
    }
    name = host
    port = parts.port
  }

  /// The host as typed.
  var text: String { port.map { "\(name):\($0)" } ?? name }
}

/// A URL that a token is requested for.
struct TokenDestination: Sendable, Hashable {
  private let origin: Origin

  /// `nil` for anything but `https`, and `http` on this machine: a token must not cross the network unencrypted.
  init?(_ address: String) {
    guard let origin = Origin(address), origin.isTrustworthy else { return nil }
    self.origin = origin
  }

  /// Whether it is at one of `hosts`, or at the account's own origin.
  func isAllowed(_ hosts: [NamedHost], own: ServerAddress?) -> Bool {
    let name = origin.host.contains(":") ? "[\(origin.host)]" : origin.host
    return hosts.contains { $0.name == name && ($0.port ?? origin.port) == origin.port }
      || own?.covers(origin.text) ?? false
  }

  /// The same for the address that a program names. Docker, pip and uv also name hosts without a scheme: that means https, or possibly
  /// http on this machine.
  static func isAllowed(_ address: String, _ hosts: [NamedHost], own: ServerAddress?) -> Bool {
    let addresses = address.contains("://") ? [address] : ["https://" + address, "http://" + address]
    return addresses.contains { TokenDestination($0)?.isAllowed(hosts, own: own) ?? false }
  }
}
#endif
