#if AsyncHTTPClient
import AsyncHTTPClient
public import HandstampCore
import HandstampSupport
import NIOCore
import NIOHTTP1

/// A transport based on AsyncHTTPClient, without redirects, cookies and caching. Its ``NetworkSettings`` name proxies,
/// authorities and a client certificate; by default they are those of the environment.
///
/// No client is started before the first request. Cancelling a request also cancels it on the wire. A failure to connect is reported
/// immediately, so that the caller decides when to retry.
public final class AsyncHTTPTransport: Transport {
  /// A process-wide shared instance. It does not need to be shut down.
  public static let shared = AsyncHTTPTransport()

  /// Keeps its connections open for later requests.
  private let kept: HTTPClients
  /// Uses each connection for a single request.
  private let single: HTTPClients
  /// Has a connection for every stream: streams stay open, and would leave none for requests.
  private let streams: HTTPClients
  /// The Unix domain socket that all requests go to; `nil` for the host in their URL.
  private let socket: String?

  /// - Parameters:
  ///   - connectTimeout: The time limit for connecting, 10 s by default. A request's own timeout applies as well.
  ///   - network: Proxies, authorities and client certificate. `nil` reads the environment, once, as
  ///     ``NetworkSettings/environment(proxies:)`` does; if that is not valid, each request throws ``TransportError/notConnected(_:)``.
  public init(connectTimeout: Duration = .seconds(10), network: NetworkSettings? = nil) {
    let network = NetworkSettings.given(network)
    kept = HTTPClients(connectTimeout, network)
    single = HTTPClients(connectTimeout, network)
    streams = HTTPClients(connectTimeout, network, connectionsPerHost: .max)
    socket = nil
  }

  /// Sends every request over the Unix domain socket at this path, in clear, whatever host its URL names.
  package init(unixSocket path: String) {
    let network = Result<NetworkSettings, TransportError>.success(NetworkSettings())
    kept = HTTPClients(.seconds(10), network)
    single = HTTPClients(.seconds(10), network)
    streams = HTTPClients(.seconds(10), network)
    socket = path
  }

  /// Connects to `host` at that address alone, whatever its name resolves to, and without a proxy, which would resolve the name itself.
  /// Certificates are checked against the name.
  ///
  /// - Parameter certificateAuthorities: A file in PEM with the authorities to trust; `nil` trusts the system's.
  package init(
    pinning host: String, to address: String, connectTimeout: Duration, certificateAuthorities: String?
  ) {
    let network = Result<NetworkSettings, TransportError>.success(
      NetworkSettings(certificateAuthorities: certificateAuthorities))
    kept = HTTPClients(connectTimeout, network, addresses: [host: address])
    single = HTTPClients(connectTimeout, network, addresses: [host: address])
    streams = HTTPClients(connectTimeout, network, addresses: [host: address])
    socket = nil
  }

  /// Closes all connections. Requests in flight and later requests fail.
  public func shutdown() async {
    await kept.shutdown()
    await single.shutdown()
    await streams.shutdown()
  }

  @concurrent public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let deadline = ContinuousClock.now + request.timeout
    let response = try await head(of: request, from: request.mayReuseConnection ? kept : single)
    let body = try await response.collected(upTo: request.maximumResponseSize, by: deadline)
    return TransportResponse(status: Int(response.status.code), headers: response.fields, body: body)
  }

  @concurrent public func upload(
    _ request: TransportRequest, fromFile path: String
  ) async throws(TransportError) -> TransportResponse {
    let client = request.mayReuseConnection ? kept : single
    return try await withIdleLimit(request.timeout, throwing: TransportError.timedOut) {
      [self] progress throws(TransportError) in
      let parts = try FileParts(path, onPart: progress)
      var outgoing = request
      outgoing.body = []
      // A file takes as long as it takes, as long as parts of it are asked for.
      outgoing.timeout = .seconds(7 * 24 * 3600)
      let response = try await head(of: outgoing, from: client, body: .stream(parts, length: .known(parts.file.size)))
      let deadline = ContinuousClock.now + request.timeout
      let body = try await response.collected(upTo: request.maximumResponseSize, by: deadline)
      return TransportResponse(status: Int(response.status.code), headers: response.fields, body: body)
    }
  }

  @concurrent public func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    let response = try await head(of: request, from: streams)
    let chunks = Chunks(response.body, of: self)
    // Pulled by the reader, so that a slow reader slows down the sender and a cancelled reader ends the request.
    let body = AsyncThrowingStream<[UInt8], any Error> { try await chunks.next() }
    return TransportStream(status: Int(response.status.code), headers: response.fields, body: body)
  }

  private func head(
    of request: TransportRequest, from clients: HTTPClients, body: HTTPClientRequest.Body? = nil
  ) async throws(TransportError) -> HTTPClientResponse {
    var outgoing = try HTTPClientRequest(request)
    if let socket { try outgoing.lead(to: socket) }
    if let body { outgoing.body = body }
    // Closes the connection after the response, so that the next request does not reuse it.
    if !request.mayReuseConnection { outgoing.headers.replaceOrAdd(name: "Connection", value: "close") }
    let (client, proxy) = try clients.client(for: request.url)
    let isAsked = Locked(false)
    // The body, and with it any token in a form, is not sent before it is asked for.
    if proxy != nil, body == nil, !request.body.isEmpty {
      let part = OnePart(part: ByteBuffer(bytes: request.body)) { isAsked.withLock { $0 = true } }
      outgoing.body = .stream(part, length: .known(Int64(request.body.count)))
    }
    do {
      return try await client.execute(outgoing, timeout: TimeAmount(request.timeout))
    } catch {
      let failure = TransportError(error, through: proxy)
      if case .connectionLost = failure, outgoing.body != nil, body == nil, proxy != nil, !isAsked.withLock({ $0 }) {
        throw NetworkFailure.proxyLost.error()
      }
      if let proxy, NetworkFailure(failure) == .proxyRefuses {
        throw await NetworkFailure.refusal(of: proxy, for: request.url)
      }
      throw failure
    }
  }
}

/// The body of a response, for one reader at a time.
// Unchecked: the iterator is used only while the flag is set.
private final class Chunks: @unchecked Sendable {
  private let isInUse = Locked(false)
  private var iterator: HTTPClientResponse.Body.AsyncIterator
  /// Keeps the transport alive while its body is read: it closes its connections on `deinit`.
  private let owner: AsyncHTTPTransport

  init(_ body: HTTPClientResponse.Body, of owner: AsyncHTTPTransport) {
    iterator = body.makeAsyncIterator()
    self.owner = owner
  }

  func next() async throws -> [UInt8]? {
    guard isInUse.withLock({ isInUse in !exchange(&isInUse, with: true) }) else {
      throw TransportError.invalidRequest("the stream already has a reader")
    }
    defer { isInUse.withLock { $0 = false } }
    do { return try await iterator.next().map { Array($0.readableBytesView) } } catch { throw TransportError(error) }
  }
}
#endif
