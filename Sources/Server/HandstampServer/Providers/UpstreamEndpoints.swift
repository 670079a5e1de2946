#if Server
import HandstampCore
import HandstampJOSE
import HandstampOAuth
import HandstampSupport

/// The requests to a provider: bounded in size and time.
struct UpstreamEndpoints: Sendable {
  /// How long the provider's metadata is used.
  private static let life = Duration.seconds(86_400)

  /// The provider, with metadata that is at most a day old.
  let backend: @Sendable () -> OAuthBackend
  /// The keys that sign ID tokens.
  let keys: KeySet

  init(_ provider: UpstreamProvider, transport: any Transport, now: @escaping @Sendable () -> UnixTime) {
    let transport = BoundedTransport(base: transport)
    let client = OAuthClient(provider)
    let known = Locked<(backend: OAuthBackend, goodUntil: UnixTime)?>(nil)
    let current = { @Sendable () -> OAuthBackend in
      let now = now()
      return known.withLock { known in
        if let known, now < known.goodUntil { return known.backend }
        let backend = OAuthBackend(client, transport: transport)
        known = (backend, now.advanced(by: UpstreamEndpoints.life))
        return backend
      }
    }
    backend = current
    keys = KeySet(
      of: provider.issuer,
      at: { () async throws(DescribedError) in
        let metadata: ServerMetadata
        do throws(SessionError) { metadata = try await current().metadata() } catch {
          throw DescribedError("the metadata is not available: \(error.code)")
        }
        guard let url = metadata.keysURL else { throw DescribedError("the metadata has no jwks_uri") }
        return (url, metadata.issuer)
      }, algorithms: [.rs256, .es256], transport: transport, now: now)
  }
}

extension OAuthClient {
  fileprivate init(_ provider: UpstreamProvider) {
    self.init(
      issuer: provider.issuer, id: provider.clientID, secret: provider.clientSecret, scopes: provider.scopes)
    guard let mapping = provider.userInfo else { return }
    // The traits that are known, such as GitHub's commas, and those that the operator names.
    var ways =
      mapping.kind.flatMap { OAuthProvider(named: $0, at: provider.issuer) } ?? OAuthProvider(of: provider.issuer)
      ?? OAuthProvider()
    for (endpoint, url) in [
      (OAuthProvider.Endpoint.authorization, mapping.authorizationEndpoint), (.token, mapping.tokenEndpoint),
      (.userInfo, mapping.userInfoEndpoint),
    ] {
      if let url { ways.endpoints[endpoint] = url }
    }
    self.provider = ways
  }
}

/// Responses of providers are small, and their users wait.
private struct BoundedTransport: Transport {
  static let longest = 256 << 10
  static let patience = Duration.seconds(10)

  let base: any Transport

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    var request = request
    request.timeout = min(request.timeout, BoundedTransport.patience)
    request.maximumResponseSize = min(request.maximumResponseSize, BoundedTransport.longest)
    return try await base.send(request)
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .invalidRequest("providers have no streams")
  }
}
#endif
