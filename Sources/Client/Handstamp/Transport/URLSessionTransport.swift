#if os(Linux)
import HandstampTransports
#endif

/// Sends requests with `URLSession`, without its cookies, its cache and its redirects.
///
/// Proxies are those of the system's settings. A client certificate is for a transport of your own, or for `AsyncHTTPTransport`.
///
/// On Linux requests are made with libcurl, which Foundation's `URLSession` stands on there as well: a 401 comes back whatever it asks for,
/// an open stream takes no time of the processor, and a cancelled request ends at once. Proxies and authorities are those of the
/// environment: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` and `SSL_CERT_FILE`, by the rules of `NetworkSettings`. If they are
/// not valid, each request throws ``TransportError/notConnected(_:)``.
public final class URLSessionTransport: Transport {
  private let base: any Transport

  public init() {
    #if os(Linux)
    base = CurlTransport() ?? URLSessionTransport.withoutLibcurl
    #else
    base = FoundationTransport()
    #endif
  }

  #if os(Linux)
  /// Foundation has its own rules for the environment's proxies, and none for its authorities.
  private static var withoutLibcurl: any Transport {
    if let network = try? NetworkSettings.environment(), network == NetworkSettings() { return FoundationTransport() }
    return RefusingTransport(
      NetworkFailure.invalidSettings.error("those of the environment need libcurl 7.68 or later, which was not found"))
  }
  #endif

  @concurrent public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    try await base.send(request)
  }

  @concurrent public func upload(
    _ request: TransportRequest, fromFile path: String
  ) async throws(TransportError) -> TransportResponse {
    try await base.upload(request, fromFile: path)
  }

  @concurrent public func download(
    _ request: TransportRequest, toFile path: String
  ) async throws(TransportError) -> TransportResponse {
    try await base.download(request, toFile: path)
  }

  @concurrent public func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await base.open(request)
  }
}
