#if Command
import HandstampSupport
import HandstampCommandLine

/// A remote MCP server: an `https` URL, or one on loopback.
struct RemoteServer: Sendable, Hashable {
  let url: String
  /// Scheme, host, port and path.
  private let parts: WebURL

  init(parsing text: String) throws(CommandError) {
    guard let parts = WebURL(text), text.utf8.allSatisfy({ (33...126).contains($0) }) else {
      throw CommandError(
        .usage, "invalid URL of an MCP server: \"\(text.onOneLine)\"",
        hint: "use its https URL, such as https://host/mcp")
    }
    guard !text.contains("#") else {
      throw CommandError(.usage, "the URL of an MCP server has no fragment", hint: "leave out what follows the #")
    }
    guard parts.origin.isTrustworthy else {
      throw CommandError(
        .usage, "refusing to send a token to \(parts.origin.host) over plain HTTP",
        hint: "use https, or a server on this machine")
    }
    (url, self.parts) = (text, parts)
  }

  /// The name of the server's machine, for messages.
  var host: String { parts.origin.text }

  /// The canonical URI of the server (RFC 8707 section 2, Model Context Protocol): scheme and host in lower case, no
  /// slash alone.
  var resource: String {
    parts.origin.text + (parts.path == "/" ? "" : parts.path) + (parts.query.map { "?\($0)" } ?? "")
  }

  /// Whether a URL that this server names may be asked: another machine's server must not point to this one.
  func mayName(_ url: String) -> Bool {
    guard !url.contains("#"), let other = Origin(url), other.isTrustworthy else { return false }
    return !Loopback.contains(host: other.host) || Loopback.contains(host: parts.origin.host)
  }

  /// The locations of the resource's metadata, where the challenge names none (RFC 9728 section 3.1).
  var metadataPlaces: [String] {
    let (name, origin) = ("oauth-protected-resource", parts.origin.text)
    let own = origin + ResourceDocument.path(name, of: parts)
    let root = "\(origin)/.well-known/\(name)"
    return own == root ? [root] : [own, root]
  }

  /// Whether a resource is this server, or all of the paths above it: one document may be for a whole API.
  func isPart(of resource: String) -> Bool {
    guard !resource.contains("#"), let other = WebURL(resource), other.origin == parts.origin else { return false }
    if let query = other.query { return other.path == parts.path && query == parts.query }
    func folder(_ path: String) -> String { path.hasSuffix("/") ? path : path + "/" }
    return folder(parts.path).hasPrefix(folder(other.path))
  }
}
#endif
