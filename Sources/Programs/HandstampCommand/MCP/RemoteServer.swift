#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

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

/// The metadata of a protected resource (RFC 9728 section 2).
struct RemoteResource: Sendable, Hashable, Decodable {
  /// The identifier that tokens are for (RFC 8707).
  var resource: String
  /// The issuers of its tokens.
  var authorization_servers: [String]
  /// The scopes that clients ask for at first.
  var scopes_supported: [String]?

  /// The largest document, in bytes.
  private static let limit = 256 << 10

  /// Finds the metadata of a server: where its challenge says, else at the well-known places.
  ///
  /// - Throws: a refusal if there is none, or it belongs to another resource (section 3.3): its authorization server
  ///   would get a sign-in that the user means for this one.
  static func find(
    _ server: RemoteServer, _ challenge: ReceivedChallenge?, over transport: any Transport
  ) async throws(CommandError) -> RemoteResource {
    let named = challenge?.metadata.map { [$0] } ?? []
    var troubles: [String] = []
    for place in named + server.metadataPlaces.filter({ !named.contains($0) }) {
      switch try await look(at: place, of: server, over: transport) {
      case .success(let found): return found
      case .failure(let trouble): troubles.append("\(place.onOneLine) \(trouble)")
      }
    }
    let reasons = troubles.joined(separator: "; ")
    guard challenge != nil else {
      throw CommandError(
        .failure, "no MCP server that asks for a sign-in at \(server.url): \(reasons)",
        hint: "check the URL, or ask its operator for the metadata of RFC 9728", code: "no_resource_metadata")
    }
    throw CommandError(
      .failure, "\(server.url) does not say where to sign in: \(reasons)",
      hint: "ask its operator for the metadata of RFC 9728", code: "no_resource_metadata")
  }

  /// Returns the metadata at one place, or why that is none of this server.
  private static func look(
    at place: String, of server: RemoteServer, over transport: any Transport
  ) async throws(CommandError) -> Result<RemoteResource, DescribedError> {
    guard server.mayName(place) else { return .failure(DescribedError("is no https URL")) }
    let request = TransportRequest(
      method: "GET", url: place, headers: [HeaderField("Accept", "application/json")], maximumResponseSize: limit)
    let response: TransportResponse
    do throws(TransportError) { response = try await transport.send(request) } catch {
      if error == .tooLarge { return .failure(DescribedError("is too large")) }
      throw CommandError(.network(error), server: ServerAddress(listed: server.host))
    }
    guard response.status == 200 else { return .failure(DescribedError("answers \(response.status)")) }
    guard let found = try? JSONDecoder().decode(RemoteResource.self, from: Data(response.body)) else {
      return .failure(DescribedError("is no such metadata"))
    }
    guard server.isPart(of: found.resource) else {
      return .failure(DescribedError("is about another resource, \(found.resource.onOneLine)"))
    }
    guard found.authorization_servers.contains(where: server.mayName) else {
      return .failure(DescribedError("names no authorization server with an https URL"))
    }
    return .success(found)
  }
}
#endif
