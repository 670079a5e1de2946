#if Command
import Foundation
import Handstamp
import HandstampCommandLine

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
      guard server.mayName(place) else {
        troubles.append("\(place.onOneLine) is no https URL")
        continue
      }
      let response: TransportResponse
      do throws(TransportError) {
        response = try await transport.send(
          TransportRequest(
            method: "GET", url: place, headers: [HeaderField("Accept", "application/json")], maximumResponseSize: limit)
        )
      } catch {
        guard error == .tooLarge else {
          throw CommandError(.network(error), server: ServerAddress(listed: server.host))
        }
        troubles.append("\(place) is too large")
        continue
      }
      guard response.status == 200 else {
        troubles.append("\(place) answers \(response.status)")
        continue
      }
      guard let found = try? JSONDecoder().decode(RemoteResource.self, from: Data(response.body)) else {
        troubles.append("\(place) is no such metadata")
        continue
      }
      guard server.isPart(of: found.resource) else {
        troubles.append("\(place) is about another resource, \(found.resource.onOneLine)")
        continue
      }
      guard found.authorization_servers.contains(where: server.mayName) else {
        troubles.append("\(place) names no authorization server with an https URL")
        continue
      }
      return found
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
}
#endif
