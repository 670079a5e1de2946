#if AsyncHTTPClient
import AsyncHTTPClient
public import HandstampCore
import NIOCore
import NIOHTTP1

/// Carries requests by AsyncHTTPClient: without redirects, cookies, a cache or a proxy.
///
/// Nothing is started before the first request. A request that is given up is cancelled on the wire as well, which makes
/// this the transport of choice on Linux. A connection that cannot be had is reported at once: whoever asks knows better
/// when to try again.
public final class AsyncHTTPTransport: Transport {
  /// One for the whole program, which needs not be shut down.
  public static let shared = AsyncHTTPTransport()

  /// Its connections are kept open for the next requests.
  private let kept: Client
  /// Its connections carry one request each.
  private let single: Client

  /// - Parameter connectTimeout: how long to wait for a connection. Default 10 s; a request's own time-out counts as well.
  public init(connectTimeout: Duration = .seconds(10)) {
    kept = Client(connectTimeout: connectTimeout)
    single = Client(connectTimeout: connectTimeout)
  }

  /// Closes all connections. Requests that are under way fail, later ones as well.
  public func shutdown() async {
    await kept.shutdown()
    await single.shutdown()
  }

  @concurrent public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let deadline = ContinuousClock.now + request.timeout
    let response = try await head(of: request)
    let body = try await response.collected(upTo: request.answerLimit, by: deadline)
    return TransportResponse(status: Int(response.status.code), headers: response.fields, body: body)
  }

  @concurrent public func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    let response = try await head(of: request)
    let chunks = Chunks(response.body, of: self)
    // Pulled by whoever reads, so that a slow reader slows the sender down and a cancelled one ends the request.
    let body = AsyncThrowingStream<[UInt8], any Error> { try await chunks.next() }
    return TransportStream(status: Int(response.status.code), headers: response.fields, body: body)
  }

  private func head(of request: TransportRequest) async throws(TransportError) -> HTTPClientResponse {
    var outgoing = try HTTPClientRequest(request)
    // Closed after the answer, so that the next request finds none that is kept.
    if !request.mayReuseConnection { outgoing.headers.replaceOrAdd(name: "Connection", value: "close") }
    let client = try (request.mayReuseConnection ? kept : single).started()
    do {
      return try await client.execute(outgoing, timeout: TimeAmount(request.timeout))
    } catch {
      throw TransportError(error)
    }
  }
}

/// An `HTTPClient` that is started when it is needed.
private final class Client: Sendable {
  private enum State: Sendable {
    case idle
    case started(HTTPClient)
    case shutDown
  }
  private let state = Locked(State.idle)
  private let connectTimeout: Duration

  init(connectTimeout: Duration) { self.connectTimeout = connectTimeout }

  deinit {
    // The client insists on it.
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
      redirectConfiguration: .disallow, timeout: .init(connect: TimeAmount(connectTimeout)), decompression: .disabled)
    configuration.connectionPool.retryConnectionEstablishment = false
    return configuration
  }
}

extension TimeAmount {
  /// Rounded down to nanoseconds; what is too long counts as a century.
  init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    self = .nanoseconds(min(max(seconds, 0), 3_200_000_000) * 1_000_000_000 + attoseconds / 1_000_000_000)
  }
}

/// The body of an answer, for one reader at a time.
// Unchecked: the iterator is used only between raising and lowering the flag.
private final class Chunks: @unchecked Sendable {
  private let isInUse = Locked(false)
  private var iterator: HTTPClientResponse.Body.AsyncIterator
  /// Lives as long as somebody reads: it shuts its connections down when it goes away.
  private let owner: AsyncHTTPTransport

  init(_ body: HTTPClientResponse.Body, of owner: AsyncHTTPTransport) {
    iterator = body.makeAsyncIterator()
    self.owner = owner
  }

  func next() async throws -> [UInt8]? {
    guard isInUse.withLock({ isInUse in !exchange(&isInUse, with: true) }) else {
      throw TransportError.invalidRequest("two readers of one stream")
    }
    defer { isInUse.withLock { $0 = false } }
    do { return try await iterator.next().map { Array($0.readableBytesView) } } catch { throw TransportError(error) }
  }
}
#endif
