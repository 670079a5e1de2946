#if Programs && os(Linux)
import Foundation
import HandstampCore

/// The requests of one session: each over a connection of its own, as a proxy forwards those of a phone.
struct StormTransport: Transport {
  let loop: StormLoop
  /// The address that connections come from.
  let source: sockaddr_in
  let port: UInt16
  /// The address of the phone, as the proxy names it.
  let client: String
  /// Whether rotation keys are left out, as by a client that has none.
  let leavesKeysOut: Bool
  /// Called when the first byte has been written: from then on the server may have received the request.
  let onSend: @Sendable () -> Void

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    var body = String(decoding: request.body, as: UTF8.self)
    if leavesKeysOut, let key = body.range(of: "&rotation_key=") { body = body[..<key.lowerBound] + "&client_id=storm" }
    var text = "POST /oauth/token HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: \(client)\r\n"
    for field in request.headers { text += "\(field.name): \(field.value)\r\n" }
    text += "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    let exchange = StormExchange(Array(text.utf8), onSend: onSend)
    // At a server without rotation keys, the machine says how long.
    let limit = leavesKeysOut ? nil : request.timeout
    let outcome: Result<TransportResponse, TransportError> = await withCheckedContinuation {
      exchange.begin(from: source, to: port, on: loop, within: limit, answering: $0)
    }
    return try outcome.get()
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .invalidRequest("a storm has no streams")
  }
}

/// One connection with one request.
// Touched by the thread of the loop alone.
final class StormExchange: @unchecked Sendable {
  typealias Answer = CheckedContinuation<Result<TransportResponse, TransportError>, Never>
  private let request: [UInt8]
  private let onSend: @Sendable () -> Void
  private var loop: StormLoop?
  private var socket: Int32 = -1
  private var isSent = false
  private var received: [UInt8] = []
  private var answer: Answer?

  init(_ request: [UInt8], onSend: @escaping @Sendable () -> Void) { (self.request, self.onSend) = (request, onSend) }

  func begin(
    from source: sockaddr_in, to port: UInt16, on loop: StormLoop, within limit: Duration?, answering answer: Answer
  ) {
    (self.loop, self.answer) = (loop, answer)
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard socket >= 0 else { return finish(.failure(.notConnected(String(cString: strerror(errno))))) }
    // The port is chosen with the connection: only there the pair of addresses has to be a new one.
    var one: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_IP), 24, &one, socklen_t(MemoryLayout<Int32>.size))
    var (own, server) = (source, source)
    server.sin_port = port.bigEndian
    server.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let outcome = withUnsafeBytes(of: &own) { own in
      withUnsafeBytes(of: &server) { server in
        let (own, server) = (own.assumingMemoryBound(to: sockaddr.self), server.assumingMemoryBound(to: sockaddr.self))
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard bind(socket, own.baseAddress, size) == 0 else { return errno }
        return connect(socket, server.baseAddress, size) == 0 ? 0 : errno
      }
    }
    guard outcome == 0 || outcome == EINPROGRESS else {
      Glibc.close(socket)
      socket = -1
      return finish(.failure(.notConnected(String(cString: strerror(outcome)))))
    }
    if let limit { loop.endsLater(limit) { [self] in finish(.failure(.timedOut)) } }
    loop.watch(socket, writes: true) { [self] in isReady(canWrite: $0) }
  }

  private func isReady(canWrite: Bool) {
    if !isSent {
      guard Glibc.send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
        return finish(.failure(.notConnected(String(cString: strerror(errno)))))
      }
      isSent = true
      onSend()
      loop?.watch(socket, writes: false) { [self] in isReady(canWrite: $0) }
      return
    }
    let count = withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 1) { piece in
      let count = read(socket, piece.baseAddress, piece.count)
      if count > 0 { received.append(contentsOf: piece[..<count]) }
      return count
    }
    if count < 0, errno == EAGAIN { return }
    guard count > 0 else { return finish(.failure(.connectionLost(count == 0 ? "closed" : "reset"))) }
    if let response = TransportResponse(http: received) { finish(.success(response)) }
  }

  private func finish(_ outcome: Result<TransportResponse, TransportError>) {
    if socket >= 0 { loop?.close(socket) }
    (socket, received) = (-1, [])
    answer?.resume(returning: outcome)
    answer = nil
  }
}

extension TransportResponse {
  /// A whole response of HTTP/1.1 whose length is given; `nil` until it is there.
  fileprivate init?(http bytes: [UInt8]) {
    guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: [13, 10, 13, 10]) }) else { return nil }
    let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
    guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
    let headers = lines.dropFirst().compactMap { line in
      line.firstIndex(of: ":").map {
        HeaderField(String(line[..<$0]), line[$0...].dropFirst().trimmingCharacters(in: .whitespaces))
      }
    }
    self.init(status: status, headers: headers, body: Array(bytes[(end + 4)...]))
    guard let length = header("Content-Length").flatMap({ Int($0) }), body.count >= length else { return nil }
  }
}
#endif
