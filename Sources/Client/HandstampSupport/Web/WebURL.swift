/// The parts of an `http` or `https` URL (RFC 3986), for decisions on where secrets may go. Stricter than a browser: what two
/// parsers could read differently is no URL here.
package struct WebURL: Sendable, Hashable {
  package let origin: Origin
  /// The path from the first slash on; never empty.
  package var path: String
  /// The query without the question mark; `nil` if there is none.
  package var query: String?

  package init(origin: Origin, path: String, query: String?) {
    self.origin = origin
    self.path = path
    self.query = query
  }

  /// Parses `text`; the fragment is ignored. `nil` for another scheme, and for a URL with a user name or a password.
  package init?(_ text: String) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text[colon...].hasPrefix("://") else { return nil }
    let scheme = text[..<colon].lowercased()
    guard let usual = Origin.usualPorts[scheme] else { return nil }
    let rest = text[colon...].dropFirst(3).prefix { $0 != "#" }
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard let (host, port) = WebURL.split(authority) else { return nil }
    let tail = rest[authority.endIndex...]
    let path = tail.prefix { $0 != "?" }
    origin = Origin(scheme: scheme, host: host, port: port ?? usual)
    self.path = path.isEmpty ? "/" : String(path)
    query = path.endIndex == tail.endIndex ? nil : String(tail[path.endIndex...].dropFirst())
  }

  /// Splits host and port (RFC 3986 section 3.2.2); `nil` if either is not valid.
  private static func split(_ authority: Substring) -> (host: String, port: Int?)? {
    var (host, port) = (authority, Substring())
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      host = authority[..<end].dropFirst()
      let rest = authority[end...].dropFirst()
      guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
      port = rest.dropFirst()
      guard host.utf8.allSatisfy({ isHexadecimal($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }) else {
        return nil
      }
    } else if let colon = authority.lastIndex(of: ":") {
      host = authority[..<colon]
      port = authority[colon...].dropFirst()
    }
    // RFC 3986's delimiters, and the characters that browsers and other parsers disagree about.
    let forbidden = Set("\"#%/<>?@[\\]^`{|}".utf8)
    guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 32 && $0 != 127 && !forbidden.contains($0) }),
      authority.hasPrefix("[") || !host.contains(":")
    else { return nil }
    guard !port.isEmpty else { return (host.lowercased(), nil) }
    guard port.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(port), (1...65_535).contains(number) else {
      return nil
    }
    return (host.lowercased(), number)
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool { PercentEncoding.value(ofDigit: byte) != nil }

  /// Returns the address of `path` below an issuer, whose last slash counts once (OpenID Connect Discovery 1.0 section 4.1).
  package static func address(_ path: String, below issuer: String) -> String {
    (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + path
  }
}

/// Scheme, host and port: the boundary that a secret does not cross (RFC 6454 section 4).
package struct Origin: Sendable, Hashable {
  /// `http` or `https`.
  package let scheme: String
  /// In lower case, without brackets.
  package let host: String
  package let port: Int

  package init(scheme: String, host: String, port: Int) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// The origin of an `http` or `https` URL; `nil` for any other text.
  package init?(_ url: String) {
    guard let url = WebURL(url) else { return nil }
    self = url.origin
  }

  package static let usualPorts = ["http": 80, "https": 443]

  /// `https://[::1]:8443`; the port only if it is not the scheme's.
  package var text: String {
    let bracketed = host.contains(":") ? "[\(host)]" : host
    return "\(scheme)://\(bracketed)" + (Origin.usualPorts[scheme] == port ? "" : ":\(port)")
  }

  /// Whether secrets may be sent there: encrypted, or without leaving this machine (RFC 8252 section 8.3).
  package var isTrustworthy: Bool { scheme == "https" || Loopback.contains(host: host) }

  /// Whether both are one port of this machine under two names, such as `localhost` and `127.0.0.1`. Cookies are for one of them.
  package func isAlias(of other: Origin) -> Bool {
    scheme == other.scheme && port == other.port && host != other.host
      && Loopback.names.isSuperset(of: [host, other.host])
  }
}

extension String {
  /// Whether this issuer, as a user, a configuration or another server hands it over, is the one that a server publishes: the same bytes,
  /// but for the `/` of an empty path (RFC 3986 section 6.2.3). `/a` and `/a/` are two. From then on the published spelling is the
  /// issuer, which everything else of that server has byte for byte.
  package func isIssuer(published other: String) -> Bool {
    withoutEmptyPath.utf8.elementsEqual(other.withoutEmptyPath.utf8)
  }

  private var withoutEmptyPath: Substring {
    guard hasSuffix("/"), !contains("#"), let url = WebURL(self), url.path == "/", url.query == nil else {
      return self[...]
    }
    return dropLast()
  }
}

/// The names of this machine.
package enum Loopback {
  /// The hosts that browsers open this machine by, as they write them. Another address in 127.0.0.0/8 may be another server's.
  package static let names: Set = ["localhost", "127.0.0.1", "::1"]

  /// Whether connections to `host` never leave this machine: `localhost`, an IPv4 address in 127.0.0.0/8, or `::1`, with or
  /// without brackets. A name that only looks like an address, such as `127.0.0.1.example.org`, is not one.
  package static func contains(host: String) -> Bool {
    let host = host.lowercased()
    let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    if bare == "localhost" || bare == "::1" || bare == "0:0:0:0:0:0:0:1" { return true }
    let numbers = bare.split(separator: ".", omittingEmptySubsequences: false)
    // Leading zeros are octal to some resolvers.
    return numbers.count == 4 && numbers[0] == "127"
      && numbers.allSatisfy { part in
        (1...3).contains(part.utf8.count) && part.utf8.allSatisfy { (48...57).contains($0) }
          && (part == "0" || !part.hasPrefix("0")) && UInt8(part) != nil
      }
  }
}
