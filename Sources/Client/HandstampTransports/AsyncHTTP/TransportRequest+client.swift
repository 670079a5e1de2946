#if AsyncHTTPClient
import AsyncHTTPClient
import HandstampCore
import HandstampSupport
import NIOCore
import NIOHTTP1

extension HTTPClientRequest {
  /// Converts a request for the client.
  ///
  /// - Throws: ``TransportError/invalidRequest(_:)`` for an invalid method or header field, and for any URL scheme but `http` and
  ///   `https`.
  init(_ request: TransportRequest) throws(TransportError) {
    let scheme = request.url.prefix { $0 != ":" }.lowercased()
    guard scheme == "http" || scheme == "https" else { throw .invalidRequest("not a valid URL: \(request)") }
    try request.check()
    self.init(url: request.url)
    method = HTTPMethod(rawValue: request.method)
    headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
    if !request.body.isEmpty { body = .bytes(ByteBuffer(bytes: request.body)) }
  }

  /// Sends the request over the Unix domain socket at `path`, with the host of its URL in the `Host` field.
  mutating func lead(to path: String) throws(TransportError) {
    guard let address = WebURL(url) else { throw .invalidRequest("not a valid URL") }
    if headers["Host"].isEmpty { headers.add(name: "Host", value: address.origin.host) }
    url = "http+unix://\(PercentEncoding.encode(path))\(address.path)" + (address.query.map { "?" + $0 } ?? "")
  }
}

extension HTTPClientResponse {
  var fields: [HeaderField] { headers.map { HeaderField($0.name, $0.value) } }

  /// Returns the whole body.
  ///
  /// - Throws: ``TransportError/tooLarge`` as soon as the announced length or the bytes received exceed `limit`;
  ///   ``TransportError/timedOut`` if the body is incomplete at `deadline`.
  func collected(upTo limit: Int, by deadline: ContinuousClock.Instant) async throws(TransportError) -> [UInt8] {
    if let length = headers.first(name: "content-length").flatMap({ Int($0) }), length > limit { throw .tooLarge }
    let body = body
    do {
      return try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
        group.addTask {
          var bytes: [UInt8] = []
          for try await chunk in body {
            guard bytes.count + chunk.readableBytes <= limit else { throw TransportError.tooLarge }
            bytes += chunk.readableBytesView
          }
          return bytes
        }
        group.addTask {
          try await Task.sleep(until: deadline, clock: .continuous)
          return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let bytes = first else { throw TransportError.timedOut }
        return bytes
      }
    } catch {
      throw TransportError(error)
    }
  }
}
#endif
