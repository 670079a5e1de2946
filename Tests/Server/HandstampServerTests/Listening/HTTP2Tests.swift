#if Programs
import Foundation
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampServer

/// Frames of HTTP/2 (RFC 9113 section 4), as bytes.
private enum Frame {
  static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(4, flags: 0, stream: 0, [])

  static func frame(_ type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
    let count = UInt32(payload.count)
    var bytes: [UInt8] = [UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), type, flags]
    bytes += withUnsafeBytes(of: stream.bigEndian) { Array($0) }
    return bytes + payload
  }

  /// A request for `/health`, or one to `/` with `isPost`, whose body does not end.
  static func request(_ stream: UInt32, isPost: Bool = false) -> [UInt8] {
    // Indexed: method, scheme https, path /; a literal :authority. RFC 7541 appendix A.
    let fields: [UInt8] = [isPost ? 0x83 : 0x82, 0x87, 0x84, 0x01, 0x01, UInt8(ascii: "a")]
    return frame(1, flags: isPost ? 0x4 : 0x5, stream: stream, fields)
  }

  static func reset(_ stream: UInt32) -> [UInt8] { frame(3, flags: 0, stream: stream, [0, 0, 0, 8]) }

  /// Returns the frames in an answer.
  static func parse(_ bytes: [UInt8]) -> [(type: UInt8, stream: UInt8, payload: [UInt8])] {
    var frames: [(UInt8, UInt8, [UInt8])] = []
    var rest = bytes[...]
    while rest.count >= 9 {
      let head = Array(rest.prefix(9))
      let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      guard rest.count >= 9 + count else { break }
      frames.append((head[3], head[8], Array(rest.dropFirst(9).prefix(count))))
      rest = rest.dropFirst(9 + count)
    }
    return frames
  }
}

@Suite(.timeLimit(.minutes(10))) struct `HTTP 2` {
  private func serve(
    middlewares: [RequestGate] = [], _ configure: @escaping (inout ServerConfiguration) -> Void = { _ in },
    body: (TestServer, String) async throws -> Void
  ) async throws {
    try await Tool.inFolder { folder in
      try await Tool.makeCertificate("a", in: folder)
      try await TestServer.run(middlewares: middlewares) {
        $0.listener.tls = TLSFiles(certificate: folder + "/a.pem", key: folder + "/a.key")
        configure(&$0)
      } body: {
        try await body($0, folder)
      }
    }
  }

  private func exchange(
    _ bytes: [UInt8], _ test: TestServer,
    until isEnough: @escaping @Sendable ([(type: UInt8, stream: UInt8, payload: [UInt8])]) -> Bool
  ) async throws -> [(type: UInt8, stream: UInt8, payload: [UInt8])] {
    let outcome = try await Tool.run(
      ["openssl", "s_client", "-quiet", "-alpn", "h2", "-connect", "127.0.0.1:\(test.running.port)"],
      input: Frame.preface + bytes, until: { isEnough(Frame.parse($0)) })
    return Frame.parse(outcome.output)
  }

  private func curl(_ arguments: [String], _ folder: String) async throws -> String {
    try await Tool.run(
      ["curl", "-s", "--http2", "--cacert", folder + "/a.pem", "-o", "/dev/null", "-w", "%{http_version} %{http_code}"]
        + arguments
    ).text
  }

  @Test func `has bounds for streams and header fields, which it announces`() async throws {
    try await serve { (test, folder) async throws -> Void in
      let frames = try await exchange(Frame.request(1), test) { $0.contains { $0.type == 1 } }
      let payload = try #require(frames.first { $0.type == 4 }).payload
      let settings = stride(from: 0, to: payload.count, by: 6).map { Array(payload[$0..<$0 + 6]) }
      #expect(settings.contains([0, 3, 0, 0, 0, 100]), "concurrent streams")
      #expect(settings.contains([0, 6, 0, 0, 0x40, 0]), "header fields")
      let url = test.running.url + "/health"
      let many = (0..<101).flatMap { ["-H", "X-\($0): y"] }
      #expect(try await curl(many + [url], folder) == "2 431")
      let large = (0..<17).flatMap { ["-H", "X-\($0): \(String(repeating: "x", count: 1000))"] }
      #expect(try await !curl(large + [url], folder).hasSuffix("200"))
      #expect(try await curl([url], folder) == "2 200")
    }
  }

  /// Browsers send each cookie in a field of its own.
  @Test func `counts the cookies as one header field`() async throws {
    try await serve { (test, _) async throws -> Void in
      func literal(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }
      // GET, https, /health, an authority; then cookies, literal fields without indexing (32 in RFC 7541 appendix A).
      var fields: [UInt8] = [0x82, 0x87, 0x04] + literal("/health") + [0x01] + literal("a")
      for number in 0..<150 { fields += [0x0F, 32 - 15] + literal("c\(number)=\(number)") }
      let frames = try await exchange(Frame.frame(1, flags: 5, stream: 1, fields), test) {
        $0.contains { $0.type == 1 && $0.stream == 1 }
      }
      let answer = frames.first { $0.type == 1 }?.payload
      #expect(answer?.first == 0x88, "200, not \(String(decoding: answer ?? [], as: UTF8.self))")
    }
  }

  /// Each frame costs its sender nothing, and keeps the event loop of other connections busy.
  @Test(arguments: [(8, [0, 0, 0, 1]), (0x42, [])] as [(UInt8, [UInt8])])
  func `ends a connection that is flooded with frames of no request`(type: UInt8, payload: [UInt8]) async throws {
    try await serve { (test, folder) async throws -> Void in
      let flood = (0..<60_000).flatMap { _ in Frame.frame(type, flags: 0, stream: 0, payload) }
      _ = try? await exchange(Frame.request(1) + flood, test) { _ in false }
      #expect(await eventually { test.metrics.openConnections == 0 })
      #expect(test.metrics.idleFrames == 1)
      #expect(test.logs.entries.contains { $0.message == "Connection closed: too much data beside its requests" })
      #expect(try await curl([test.running.url + "/health"], folder) == "2 200")
    }
  }

  /// A proxy sends the requests of many on one connection: what one of them is refused must not end those of the others.
  @Test func `goes on after bodies that are too large`() async throws {
    try await serve { (test, folder) async throws -> Void in
      try Data(repeating: 32, count: 200_000).write(to: URL(fileURLWithPath: folder + "/body"))
      let urls = Array(repeating: test.running.url + "/v1/sign-in", count: 40)
      _ = try await Tool.run(
        ["curl", "-s", "--http2", "--parallel", "--cacert", folder + "/a.pem", "--data-binary", "@\(folder)/body"]
          + urls)
      #expect(test.metrics.idleFrames == 0)
    }
  }

  @Test func `ends a connection whose client takes its requests back as soon as it makes them`() async throws {
    try await serve { (test, _) async throws -> Void in
      var flood: [UInt8] = []
      for stream in stride(from: 1, to: 4000, by: 2) as StrideTo<UInt32> {
        flood += Frame.request(stream)
        flood += Frame.reset(stream)
      }
      let frames = try await exchange(flood, test) { $0.contains { $0.type == 7 } }
      #expect(
        frames.contains { $0.type == 7 && $0.payload.dropFirst(4).prefix(4) == [0, 0, 0, 11] }, "ENHANCE_YOUR_CALM")
      #expect(await eventually { test.metrics.openConnections == 0 })
    }
  }

  @Test func `refuses a request whose path has no slash, and one with two hosts`() async throws {
    try await serve { (test, _) async throws -> Void in
      func literal(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }
      // Literal fields without indexing: the name by its index (4 is :path, 38 is host), then the value.
      let (method, scheme, authority): ([UInt8], [UInt8], [UInt8]) = ([0x82], [0x87], [0x01] + literal("a"))
      func status(_ fields: [UInt8]) async throws -> UInt8? {
        let frames = try await exchange(Frame.frame(1, flags: 5, stream: 1, fields), test) {
          $0.contains { ($0.type == 1 || $0.type == 3) && $0.stream == 1 || $0.type == 7 }
        }
        return frames.first { $0.type == 1 }?.payload.first
      }
      // 0x88 is :status 200, 0x8c is 400 (RFC 7541 appendix A).
      let health = [0x04] + literal("/health")
      #expect(try await status(method + scheme + authority + health) == 0x88)
      #expect(try await status(method + scheme + authority + health + [0x0F, 38 - 15] + literal("A")) == 0x88)
      #expect(try await status(method + scheme + authority + health + [0x0F, 38 - 15] + literal("b")) == 0x8C)
      for path in ["health", "http://a/health", "*"] {
        #expect(try await status(method + scheme + authority + [0x04] + literal(path)) == 0x8C, "\(path)")
      }
    }
  }

  @Test func `gives a body its time, as HTTP 1 does`() async throws {
    try await serve({ $0.listener.bodyLimit = .milliseconds(100) }) { (test, _) async throws -> Void in
      let frames = try await exchange(Frame.request(1, isPost: true), test) {
        $0.contains { $0.type == 1 && $0.stream == 1 }
      }
      #expect(test.metrics.slowRequests == 1)
      #expect(frames.contains { $0.type == 1 && $0.stream == 1 })
    }
  }

  @Test func `has the same limit of a body`() async throws {
    try await serve { (test, folder) async throws -> Void in
      try Data(repeating: 32, count: 100_000).write(to: URL(fileURLWithPath: folder + "/body"))
      let arguments = ["-H", "Content-Type: application/json", "--data-binary", "@\(folder)/body"]
      #expect(try await curl(arguments + [test.running.url + "/v1/sign-in"], folder) == "2 413")
    }
  }

  @Test func `announces the end of the server, and finishes what is in flight`() async throws {
    let gate = RequestGate()
    // Longer than a busy machine takes for the test.
    try await serve(middlewares: [gate], { $0.shutdownLimit = .seconds(600) }) { (test, folder) async throws -> Void in
      async let answer = curl([test.running.url + "/health"], folder)
      await gate.arrivals(1)
      let settings = Locked(false)
      async let idle = exchange([], test) { frames in
        if frames.contains(where: { $0.type == 4 }) { settings.withLock { $0 = true } }
        return false
      }
      // Until it has sent its settings, the server does not know that the connection is HTTP 2.
      #expect(await eventually { settings.withLock { $0 } })
      #expect(test.metrics.openConnections == 2)
      async let stopping: Void = test.running.stop()
      #expect(await eventually { test.metrics.openConnections == 1 })
      gate.open()
      #expect(try await answer == "2 200")
      #expect(try await idle.contains { $0.type == 7 && $0.payload.dropFirst(4).prefix(4) == [0, 0, 0, 0] })
      try await stopping
    }
  }
}
#endif
