#if AsyncHTTPClient
import AsyncHTTPClient
public import HandstampCore
import HandstampSupport
import NIOCore
import NIOHTTPCompression
import NIOHTTP1
import NIOSSL

/// A transport based on AsyncHTTPClient, without redirects, cookies, caching or proxies.
///
/// No client is started before the first request. Cancelling a request also cancels it on the wire, which makes this
/// the preferred transport on Linux. A failure to connect is reported immediately, so that the caller decides when to
/// retry.
public final class AsyncHTTPTransport: Transport {
  /// A process-wide shared instance. It does not need to be shut down.
  public static let shared = AsyncHTTPTransport()

  /// Keeps its connections open for later requests.
  private let kept: Client
  /// Uses each connection for a single request.
  private let single: Client
  /// Has a connection for every stream: streams stay open, and would leave none for requests.
  private let streams: Client

  /// - Parameters:
  ///   - connectTimeout: The time limit for connecting, 10 s by default. A request's own timeout applies as well.
  ///   - certificateAuthorities: A file in PEM with the authorities to trust instead of the system's. `nil` uses that of the
  ///     environment variable `SSL_CERT_FILE`, if it is set.
  public init(connectTimeout: Duration = .seconds(10), certificateAuthorities: String? = nil) {
    let file = certificateAuthorities ?? ProcessEnvironment["SSL_CERT_FILE"]
    kept = Client(connectTimeout, file)
    single = Client(connectTimeout, file)
    streams = Client(connectTimeout, file, connectionsPerHost: .max)
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

  @concurrent public func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    let response = try await head(of: request, from: streams)
    let chunks = Chunks(response.body, of: self)
    // Pulled by the reader, so that a slow reader slows down the sender and a cancelled reader ends the request.
    let body = AsyncThrowingStream<[UInt8], any Error> { try await chunks.next() }
    return TransportStream(status: Int(response.status.code), headers: response.fields, body: body)
  }

  private func head(
    of request: TransportRequest, from client: Client
  ) async throws(TransportError) -> HTTPClientResponse {
    var outgoing = try HTTPClientRequest(request)
    // Closes the connection after the response, so that the next request does not reuse it.
    if !request.mayReuseConnection { outgoing.headers.replaceOrAdd(name: "Connection", value: "close") }
    let client = try client.started()
    do {
      return try await client.execute(outgoing, timeout: TimeAmount(request.timeout))
    } catch {
      throw TransportError(error)
    }
  }
}

/// An `HTTPClient` that is started on first use.
private final class Client: Sendable {
  private enum State: Sendable {
    case idle
    case started(HTTPClient)
    case shutDown
  }
  private let state = Locked(State.idle)
  private let connectTimeout: Duration
  private let certificateAuthorities: String?
  /// How many connections to one host there may be; `nil` for AsyncHTTPClient's own limit.
  private let connectionsPerHost: Int?

  init(_ connectTimeout: Duration, _ certificateAuthorities: String?, connectionsPerHost: Int? = nil) {
    self.connectTimeout = connectTimeout
    self.certificateAuthorities = certificateAuthorities
    self.connectionsPerHost = connectionsPerHost
  }

  deinit {
    // The client must be shut down before it is deallocated.
    if case .started(let client) = state.withLock({ $0 }) { client.shutdown { _ in } }
  }

  func shutdown() async {
    let former = state.withLock { state in
      defer { state = .shutDown }
      return state
    }
    if case .started(let client) = former { try? await client.shutdown() }
  }

  func started() throws(TransportError) -> HTTPClient {
    let client = state.withLock { state -> HTTPClient? in
      switch state {
      case .shutDown: return nil
      case .started(let client): return client
      case .idle:
        let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
        state = .started(client)
        return client
      }
    }
    guard let client else { throw .notConnected("the transport has been shut down") }
    return client
  }

  private var configuration: HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow, timeout: .init(connect: TimeAmount(connectTimeout)),
      // Some servers compress without having been asked; what they sent must not be lost for that.
      decompression: .enabled(limit: .size(64 << 20)))
    configuration.connectionPool.retryConnectionEstablishment = false
    if let certificateAuthorities {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .file(certificateAuthorities)
      configuration.tlsConfiguration = tls
    }
    if let connectionsPerHost {
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsPerHost
    }
    return configuration
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
