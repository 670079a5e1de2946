import HandstampCore
import HandstampSupport

/// Fetches a server's metadata once, and keeps it until the program exits. Without a request if the provider names the endpoints.
final class MetadataSource: Sendable {
  private let issuer: String
  private let provider: OAuthProvider
  private let transport: any Transport
  private let prover: DPoPProver?
  private let found = Locked<ServerMetadata?>(nil)
  private let other = Locked<String?>(nil)
  private let last = Locked<Int?>(nil)
  /// The status of the last response that was no metadata.
  var lastStatus: Int? { last.withLock { $0 } }
  /// The issuer that the server's metadata named in place of the wanted one: a slash at the end of a path is enough.
  var otherIssuer: String? { other.withLock { $0 } }

  init(issuer: String, _ provider: OAuthProvider, transport: any Transport, prover: DPoPProver?) {
    self.prover = prover
    self.issuer = issuer
    self.provider = provider
    self.transport = transport
  }

  /// Returns the metadata. Concurrent callers may fetch it several times; the result is the same.
  ///
  /// A response that is not this issuer's metadata is skipped: a site that answers every path with a page of its own would
  /// otherwise hide the document at the next location.
  ///
  /// - Throws: ``SessionError/requestFailed(_:retryAfter:)`` if a location may answer later;
  ///   ``SessionError/invalidResponse(_:)`` if some location has a response and none is usable;
  ///   ``SessionError/unsupported(_:)`` if no location has one. The text lists each location's response.
  @concurrent func metadata() async throws(SessionError) -> ServerMetadata {
    if let known = found.withLock({ $0 }) { return known }
    let places = Address.metadata(of: issuer)
    guard !places.isEmpty else { throw .invalidResponse("the issuer is not an https URL") }
    if provider.endpoints[.token] != nil {
      let metadata = try ServerMetadata(of: issuer, provider)
      found.withLock { $0 = metadata }
      return metadata
    }
    var responses: [String] = []
    var transient: SessionError?
    var isAnyUnusable = false
    for place in places {
      let name = Address.path(of: place)
      let response: TransportResponse
      do throws(TransportError) {
        response = try await transport.send(
          TransportRequest(
            method: "GET", url: place, headers: [HeaderField("Accept", "application/json"), .uncompressed],
            maximumResponseSize: 1 << 20))
      } catch {
        guard error == .tooLarge else { throw SessionError(error) }
        isAnyUnusable = true
        responses.append("\(name) is too large for metadata")
        continue
      }
      prover?.learn(from: response.headers, of: place)
      last.withLock { $0 = response.status }
      switch response.status {
      case 200:
        do throws(SessionError) {
          let metadata = try ServerMetadata(response.body, of: issuer, provider)
          found.withLock { $0 = metadata }
          return metadata
        } catch {
          guard case .invalidResponse(let why) = error else { throw error }
          isAnyUnusable = true
          // One with a placeholder is no issuer to sign in at.
          if let named = ServerMetadata.issuer(in: response.body), !issuer.isIssuer(published: named),
            !named.contains("{")
          {
            other.withLock { $0 = named }
          }
          responses.append("\(name): \(why)")
        }
      case 429, 500...:
        if transient == nil {
          transient = .requestFailed(.server(.init(status: response.status)), retryAfter: response.retryDelay())
        }
      default: responses.append("\(name) answers \(response.status)")
      }
    }
    if let transient { throw transient }
    let all = responses.joined(separator: "; ")
    throw isAnyUnusable
      ? .invalidResponse("no usable metadata: \(all)") : .unsupported("OAuth metadata: \(all)")
  }
}
