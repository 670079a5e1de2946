import HandstampSupport

/// The parts of an `http` or `https` URL that cookies and redirects depend on (RFC 3986).
public struct WebAddress: Sendable, Hashable {
  public let scheme: String
  /// The host, in lower case, without brackets and port.
  public let host: String
  public let port: Int
  /// The path from the first slash on; never empty.
  public let path: String
  /// The query without the question mark; `nil` if there is none.
  public let query: String?
}

extension WebAddress {
  /// Parses `text`; `nil` if it is not such a URL, or contains a user name or a password.
  public init?(_ text: String) {
    guard let url = WebURL(text) else { return nil }
    self.init(
      scheme: url.origin.scheme, host: HostName.canonical(url.origin.host), port: url.origin.port, path: url.path,
      query: url.query)
  }

  private var origin: Origin { Origin(scheme: scheme, host: host, port: port) }

  /// Whether secrets may be sent there: over `https`, or without leaving this machine.
  public var isTrustworthy: Bool { origin.isTrustworthy }

  /// Whether the scheme is `https`.
  public var isSecure: Bool { scheme == "https" }

  /// Whether scheme, host and port are the same (RFC 6454).
  public func isSameOrigin(as other: WebAddress) -> Bool { origin == other.origin }

  /// The URL as text.
  public var text: String { origin.text + path + (query.map { "?" + $0 } ?? "") }

  /// Returns the target of a link or a `Location` on this page (RFC 3986 section 5.2); `nil` for another scheme.
  public func resolving(_ reference: String) -> WebAddress? {
    let reference = String(
      reference.drop { $0.isWhitespace }.prefix { $0 != "#" && $0 != "\r" && $0 != "\n" && $0 != "\0" })
    if reference.isEmpty { return self }
    if let found = WebAddress(reference) { return found.tidied }
    let head = reference.prefix { $0 != "/" && $0 != "?" }
    if head.contains(":") { return nil }
    if reference.hasPrefix("//") { return WebAddress(scheme + ":" + reference)?.tidied }
    let path = reference.prefix { $0 != "?" }
    let query = path.endIndex == reference.endIndex ? nil : String(reference[path.endIndex...].dropFirst())
    if path.isEmpty { return with(self.path, query) }
    if path.hasPrefix("/") { return with(String(path), query).tidied }
    let folder = self.path[...(self.path.lastIndex(of: "/") ?? self.path.startIndex)]
    return with(String(folder) + path, query).tidied
  }

  private func with(_ path: String, _ query: String?) -> WebAddress {
    WebAddress(scheme: scheme, host: host, port: port, path: path, query: query)
  }

  /// The same URL without `.` and `..` in its path.
  private var tidied: WebAddress {
    var parts: [Substring] = []
    let all = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    for (index, part) in all.enumerated() {
      let isLast = index == all.count - 1
      switch part {
      case ".": if isLast { parts.append("") }
      case "..":
        if !parts.isEmpty { parts.removeLast() }
        if isLast { parts.append("") }
      default: parts.append(part)
      }
    }
    return with("/" + parts.joined(separator: "/"), query)
  }
}
