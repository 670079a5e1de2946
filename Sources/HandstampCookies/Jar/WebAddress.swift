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

  /// Parses `text`; `nil` if it is not such a URL, or contains a user name or a password.
  public init?(_ text: String) {
    guard let mark = text.range(of: "://") else { return nil }
    let scheme = text[..<mark.lowerBound].lowercased()
    guard let usual = ["http": 80, "https": 443][scheme] else { return nil }
    let rest = text[mark.upperBound...].prefix { $0 != "#" }
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard !authority.contains("@"), let (host, port) = WebAddress.split(authority, usual: usual) else { return nil }
    let tail = rest[authority.endIndex...]
    let path = tail.prefix { $0 != "?" }
    self.init(
      scheme: scheme, host: host, port: port, path: path.isEmpty ? "/" : String(path),
      query: path.endIndex == tail.endIndex ? nil : String(tail[path.endIndex...].dropFirst()))
  }

  private init(scheme: String, host: String, port: Int, path: String, query: String?) {
    self.scheme = scheme
    self.host = host
    self.port = port
    self.path = path
    self.query = query
  }

  private static func split(_ authority: Substring, usual: Int) -> (host: String, port: Int)? {
    var (host, port) = (authority, Substring())
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      host = authority[authority.index(after: authority.startIndex)..<end]
      port = authority[authority.index(after: end)...]
      guard port.isEmpty || port.hasPrefix(":") else { return nil }
      port = port.dropFirst()
    } else if let colon = authority.lastIndex(of: ":") {
      host = authority[..<colon]
      port = authority[authority.index(after: colon)...]
    }
    guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 32 && $0 != 127 }) else { return nil }
    guard !port.isEmpty else { return (host.lowercased(), usual) }
    guard port.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(port), (1...65_535).contains(number) else {
      return nil
    }
    return (host.lowercased(), number)
  }

  /// Whether the scheme is `https`.
  public var isSecure: Bool { scheme == "https" }

  /// Whether scheme, host and port are the same (RFC 6454).
  public func isSameOrigin(as other: WebAddress) -> Bool {
    scheme == other.scheme && host == other.host && port == other.port
  }

  /// The URL as text.
  public var text: String {
    let authority = host.contains(":") ? "[\(host)]" : host
    let suffix = port == (isSecure ? 443 : 80) ? "" : ":\(port)"
    return "\(scheme)://\(authority)\(suffix)\(path)\(query.map { "?" + $0 } ?? "")"
  }

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

extension String {
  /// Returns the first occurrence of `text`, without Foundation.
  func range(of text: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
      start = index(after: start)
    }
    return nil
  }
}
