#if Programs
import Foundation
import HandstampTesting
import HTTPTypes
import Hummingbird
import NIOCore
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A listener by itself` {
  /// Runs `body` against a listener without a session server.
  private func run<Value>(
    _ configure: (inout ListenerOptions) -> Void = { _ in },
    respond: @escaping @Sendable (Request, any Channel) async throws -> Response = { _, _ in
      Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: "welcome")))
    }, body: (_ base: String) async throws -> Value
  ) async throws -> Value {
    var options = ListenerOptions()
    configure(&options)
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    let listener = try Listener(
      on: [.host("127.0.0.1", port: 0)], options: options, logger: LogCapture().logger,
      onReady: { port.yield($0) }, respond: respond)
    let running = Task {
      defer { port.finish() }
      try await listener.run()
    }
    defer { running.cancel() }
    for await port in ports { return try await body("http://127.0.0.1:\(port)") }
    throw CancellationError()
  }

  private static let requests = [
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD /a?b=c HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "POST /b HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 10\r\n\r\n0123456789",
    "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\nX: y\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
  ]
  private static let pieces = [
    "\r\n", "\r", "\n", "\0", " ", ":", "\r\n\r\n", "Content-Length: 3\r\n", "Content-Length: 99999999999999999999\r\n",
    "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "Upgrade: h2c\r\n", "ffffffffffffffff\r\n",
    "\u{FF}\u{0}",
  ]

  @Test(arguments: 0..<60 as Range<UInt64>)
  func `answers or closes, whatever a client sends, and serves the next`(seed: UInt64) async throws {
    var random = SplitMix64(state: seed)
    var bytes: [UInt8] = []
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      bytes += Array((Self.requests.randomElement(using: &random) ?? "").utf8)
    }
    for _ in 0..<Int.random(in: 0...5, using: &random) {
      let place = Int.random(in: 0...bytes.count, using: &random)
      let end = min(bytes.count, place + Int.random(in: 0...20, using: &random))
      switch Int.random(in: 0..<4, using: &random) {
      case 0: bytes.removeSubrange(place..<end)
      case 1: bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
      case 2: bytes.insert(contentsOf: Array((Self.pieces.randomElement(using: &random) ?? "").utf8), at: place)
      default: if place < end { bytes[place] = UInt8.random(in: 0...255, using: &random) }
      }
    }
    let sent = bytes
    try await run { base in
      let client = try RawSocket(base)
      client.send(sent)
      client.finish()
      let (text, end) = await client.receive()
      #expect(end != .open)
      #expect(text.isEmpty || text.hasPrefix("HTTP/1."))
      let statuses = Set(text.components(separatedBy: "HTTP/1.").dropFirst().map { String($0.dropFirst(2).prefix(3)) })
      #expect(statuses.isSubset(of: ["200", "400", "431"]), "\(statuses)")
      let next = try RawSocket(base)
      next.send(Self.requests[0])
      #expect(await next.receive(until: "welcome").text.hasPrefix("HTTP/1.1 200 "))
    }
  }

  @Test func `does not wait for a body that is too large, and reading it throws`() async throws {
    try await run {
      $0.bodySize = 0
    } respond: { request, _ in
      do { _ = try await request.body.collect(upTo: 1000) } catch is NIOTooManyBytesError {
        return Response(status: .contentTooLarge)
      }
      return Response(status: .ok)
    } body: { base in
      let client = try RawSocket(base)
      client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
      #expect(await client.receive(until: "\r\n\r\n").text.hasPrefix("HTTP/1.1 413 "))
      client.send("01234" + Self.requests[0])
      #expect(await client.receive(until: "\r\n\r\n").text.hasPrefix("HTTP/1.1 200 "))
    }
  }

  @Test(arguments: [(16 << 10, "431"), (80 << 10, "200")])
  func `takes heads of the size that it is told`(size: Int, status: String) async throws {
    try await run {
      $0.headSize = size
    } body: { base in
      let client = try RawSocket(base)
      client.send("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20 << 10))\r\n\r\n")
      #expect(await client.receive(until: "\r\n\r\n").text.hasPrefix("HTTP/1.1 \(status) "))
    }
  }

  @Test func `answers 500 for an error of its responder, and goes on`() async throws {
    try await run(respond: { _, _ in throw CancellationError() }) { base in
      let client = try RawSocket(base)
      for _ in 0..<2 {
        client.send(Self.requests[0])
        #expect(await client.receive(until: "\r\n\r\n").text.hasPrefix("HTTP/1.1 500 "))
      }
    }
  }
}
#endif
