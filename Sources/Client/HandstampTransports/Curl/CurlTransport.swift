#if os(Linux)
import Foundation
package import HandstampCore
import HandstampSupport

/// Requests over libcurl, which Foundation on Linux needs as well: it is looked for at run time, and no package is fetched for it. Proxies,
/// authorities and client certificates are as those of `AsyncHTTPTransport`.
///
/// One thread of the process performs all requests, and sleeps until a socket or a caller wakes it. A connection is reused by requests that
/// may be sent twice: libcurl repeats one on a new connection if the kept one was closed without a response.
package final class CurlTransport: Transport {
  private let loop: CurlLoop
  private let network: Result<NetworkSettings, TransportError>

  /// Returns `nil` if libcurl 7.68 or later is not installed.
  ///
  /// - Parameter network: `nil` reads the environment, once; if that is not valid, each request throws
  ///   ``TransportError/notConnected(_:)``.
  package init?(network: NetworkSettings? = nil) {
    guard let loop = CurlLoop.shared else { return nil }
    self.loop = loop
    self.network = NetworkSettings.given(network)
  }

  @concurrent package func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let body = request.body.isEmpty ? CurlExchange.Body.none : .bytes(request.body)
    return try await response(to: request, body, .wholeResponse)
  }

  @concurrent package func upload(
    _ request: TransportRequest, fromFile path: String
  ) async throws(TransportError) -> TransportResponse {
    try await response(to: request, .file(try OpenFile(path)), .progress)
  }

  @concurrent package func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    let body = request.body.isEmpty ? CurlExchange.Body.none : .bytes(request.body)
    let reader = try begin(request, body, .head)
    let head = try await reader.head()
    // Pulled by the reader, so that a slow reader slows down the sender, and a cancelled or absent one ends the request.
    let chunks = AsyncThrowingStream<[UInt8], any Error> { try await reader.next() }
    return TransportStream(status: head.status, headers: head.headers, body: chunks)
  }

  private func response(
    to request: TransportRequest, _ body: CurlExchange.Body, _ limited: CurlExchange.Limited
  ) async throws(TransportError) -> TransportResponse {
    let reader = try begin(request, body, limited)
    var response = try await reader.head()
    while let chunk = try await reader.next() { response.body += chunk }
    return response
  }

  private func begin(
    _ request: TransportRequest, _ body: CurlExchange.Body, _ limited: CurlExchange.Limited
  ) throws(TransportError) -> CurlReader {
    let settings = try network.get()
    try request.check()
    // Foundation encodes what a URL may not have, as in `URLSession`.
    guard let url = URL(string: request.url)?.absoluteString, let origin = Origin(url) else {
      throw .invalidRequest("not a valid URL: \(request)")
    }
    let (news, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let exchange = CurlExchange(
      request, url: url, of: origin, body: body, limited: limited, settings: settings, signal)
    signal.onTermination = { [loop] end in
      if case .cancelled = end { loop.order(.end(exchange)) }
    }
    loop.order(.begin(exchange))
    return CurlReader(exchange, news, loop)
  }
}

/// The caller's side of an exchange, for one reader at a time. The request ends with it.
final class CurlReader: Sendable {
  private let transfer: CurlExchange
  private let news: AsyncStream<Void>
  private let loop: CurlLoop
  private let isInUse = Locked(false)

  init(_ transfer: CurlExchange, _ news: AsyncStream<Void>, _ loop: CurlLoop) {
    (self.transfer, self.news, self.loop) = (transfer, news, loop)
  }

  func head() async throws(TransportError) -> TransportResponse { try await wait { $0.takeHead() } }

  /// Returns the bytes that have arrived since the last call; `nil` at the end.
  func next() async throws(TransportError) -> [UInt8]? {
    let (chunk, mustResume) = try await wait { $0.takeChunk() }
    if mustResume { loop.order(.resume(transfer)) }
    return chunk
  }

  private func wait<Value: Sendable>(
    _ take: @Sendable (inout CurlExchange.Arrived) -> Result<Value, TransportError>?
  ) async throws(TransportError) -> Value {
    // Two readers of one `AsyncStream` would be a trap.
    guard isInUse.withLock({ isInUse in !exchange(&isInUse, with: true) }) else {
      throw .invalidRequest("the stream already has a reader")
    }
    defer { isInUse.withLock { $0 = false } }
    if let value = transfer.arrived.withLock(take) { return try value.get() }
    for await _ in news {
      if let value = transfer.arrived.withLock(take) { return try value.get() }
    }
    // Ended, or the caller is cancelled, which ends the request.
    return try (transfer.arrived.withLock(take) ?? .failure(.cancelled)).get()
  }
}
#endif
