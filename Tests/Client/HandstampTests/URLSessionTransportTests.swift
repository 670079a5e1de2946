import HandstampSupport
import HandstampTesting
import Testing

@testable import Handstamp

@Suite(.timeLimit(.minutes(10))) struct `URLSession as a transport` {
  /// Of apps, and what it stands on where there is no libcurl.
  enum Kind: CaseIterable, Sendable {
    case urlSession, foundation

    func make() -> any Transport {
      switch self {
      case .urlSession: URLSessionTransport()
      case .foundation: FoundationTransport()
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func `limits the wait for a whole response, however steadily it trickles`(_ kind: Kind) async throws {
    let transport = kind.make()
    let server = try LoopbackServer { connection in
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      while connection.write("1\r\nx\r\n"), !connection.hasGone(within: .milliseconds(50)) {}
    }
    let request = TransportRequest(method: "GET", url: server.url, timeout: .milliseconds(400))
    let start = ContinuousClock.now
    await #expect(throws: TransportError.timedOut) { try await transport.send(request) }
    #expect(ContinuousClock.now - start >= .milliseconds(400))
  }

  @Test(arguments: Kind.allCases)
  func `limits the wait for a stream's head, and ends the request`(_ kind: Kind) async throws {
    let transport = kind.make()
    let (came, gone) = (Locked(false), Gate())
    let server = try LoopbackServer { connection in
      came.withLock { $0 = true }
      while !connection.hasGone(within: .milliseconds(50)) {}
      gone.open()
    }
    let request = TransportRequest(method: "GET", url: server.url, timeout: .milliseconds(300))
    // A busy machine may take longer than the limit to read a request, which then ends before the server has seen it.
    repeat {
      await #expect(throws: TransportError.timedOut) { try await transport.open(request) }
    } while !came.withLock({ $0 })
    await gone.wait()
    withExtendedLifetime(server) {}
  }

  @Test(arguments: Kind.allCases)
  func `sends requests, however many streams are open`(_ kind: Kind) async throws {
    let transport = kind.make()
    let server = try LoopbackServer { connection in
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n.")
      guard connection.path == "/stream" else { return }
      while !connection.hasGone(within: .milliseconds(50)) {}
    }
    var streams: [TransportStream] = []
    for _ in 0..<20 {
      streams.append(try await transport.open(TransportRequest(method: "GET", url: server.url + "/stream")))
    }
    for mayReuse in [true, false] {
      let answer = try await transport.send(
        TransportRequest(method: "GET", url: server.url + "/answer", mayReuseConnection: mayReuse))
      #expect(answer.status == 200)
    }
    #expect(streams.allSatisfy { $0.status == 200 })
  }

  @Test(arguments: Kind.allCases)
  func `survives many concurrent responses that are a byte too large`(_ kind: Kind) async throws {
    let transport = kind.make()
    let server = try LoopbackServer { connection in
      let isChunked = connection.path == "/chunked"
      // A client that takes the connection for one that stays may send its next request into its end.
      connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\n")
      connection.write(isChunked ? "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" : "Content-Length: 1001\r\n\r\n")
      connection.write([UInt8](repeating: 65, count: 1001))
      if isChunked { connection.write("\r\n0\r\n\r\n") }
    }
    for path in ["/counted", "/chunked"] {
      for _ in 0..<10 {
        let calls = (0..<16).map { _ in
          Task {
            try await transport.send(TransportRequest(method: "GET", url: server.url + path, maximumResponseSize: 1000))
          }
        }
        for call in calls { await #expect(throws: TransportError.tooLarge) { try await call.value } }
      }
    }
  }

  #if canImport(FoundationNetworking)
  private static let reuses = [false, true]
  #else
  private static let reuses = [false]
  #endif

  // With a body, on Linux, any request: Foundation does not notice there that such a connection is dropped.
  @Test(arguments: Kind.allCases, reuses)
  func `avoids reused connections for a request that must not be lost`(_ kind: Kind, mayReuse: Bool) async throws {
    let transport = kind.make()
    let server = try LoopbackServer { connection in
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      // Kept alive until the next request, then dropped without a response.
      _ = connection.hasGone(within: .seconds(600))
    }
    #expect(try await transport.send(TransportRequest(method: "GET", url: server.url)).status == 200)
    let post = TransportRequest(
      method: "POST", url: server.url, body: [1], timeout: .seconds(60), mayReuseConnection: mayReuse)
    for _ in 0..<3 { #expect(try await transport.send(post).status == 200) }
  }

  /// As RFC 6749 section 5.2 wants it of a token endpoint. The limit is that of a server that answered at once.
  @Test(
    arguments: [
      (401, ["Basic realm=\"tokens\""]), (401, ["Basic"]), (401, ["Digest realm=\"a\", nonce=\"b\", qop=\"auth\""]),
      (401, ["NTLM"]), (401, ["Negotiate"]), (401, ["Bearer error=\"invalid_token\"", "Basic realm=\"a\""]),
      (401, ["Basic realm=\"a\", Digest realm=\"a\", nonce=\"b\""]), (401, []), (407, []),
      (407, ["Basic realm=\"a\""]),
    ] as [(Int, [String])])
  func `returns a challenge as the response that it is`(status: Int, challenges: [String]) async throws {
    let body = #"{"error":"invalid_grant"}"#
    let name = status == 407 ? "Proxy-Authenticate" : "WWW-Authenticate"
    let requests = Locked(0)
    let server = try LoopbackServer { connection in
      requests.withLock { $0 += 1 }
      _ = connection.body()
      connection.answer(status, body, headers: challenges.map { "\(name): \($0)\r\n" }.joined())
    }
    let post = TransportRequest(
      method: "POST", url: server.url, headers: [HeaderField("Authorization", "Basic YTpi")], body: Array("a=b".utf8))
    let get = TransportRequest(method: "GET", url: server.url)
    for (transport, request) in Kind.allCases.flatMap({ kind in [post, get].map { (kind.make(), $0) } }) {
      let response = try await transport.send(request)
      #expect(response.status == status)
      #expect(String(decoding: response.body, as: UTF8.self) == body)
      for challenge in challenges {
        #expect(response.headers.contains { $0.name == name && $0.value.contains(challenge) })
      }
      let stream = try await transport.open(request)
      var bytes: [UInt8] = []
      for try await chunk in stream.body { bytes += chunk }
      #expect(stream.status == status && bytes == Array(body.utf8))
    }
    #expect(requests.withLock { $0 } == 8)
  }

  @Test(arguments: Kind.allCases) func `returns a large response in one piece`(_ kind: Kind) async throws {
    let transport = kind.make()
    let server = try LoopbackServer { connection in
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n")
      connection.write([UInt8](repeating: 65, count: 8_000_000))
    }
    let response = try await transport.send(TransportRequest(method: "GET", url: server.url))
    #expect(response.body.count == 8_000_000)
  }
  #if os(Linux)
  @Test func `sends fields as they are, and reads the last head alone`() async throws {
    let transport = URLSessionTransport()
    let heads = Locked<[String]>([])
    let server = try LoopbackServer { connection in
      heads.withLock { $0.append(connection.head) }
      connection.write(
        "HTTP/1.1 103 Early Hints\r\nX-Early: yes\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n")
      connection.write("X-Empty:\r\nX-Folded: one\r\n  two\r\nSet-Cookie: a=b, c\r\nset-cookie: d\r\n\r\n")
      connection.write("2\r\nok\r\n0\r\nX-Trailer: late\r\n\r\n")
    }
    let response = try await transport.send(
      TransportRequest(
        method: "PATCH", url: server.url + "/a/../b%2f?c d#e",
        headers: [HeaderField("X-Empty", ""), HeaderField("X-Two", "a"), HeaderField("X-Two", "b:c")]))
    let head = try #require(heads.withLock { $0.first })
    #expect(head.hasPrefix("PATCH /a/../b%2f?c%20d HTTP/1.1\r\n"))
    for line in ["X-Empty:", "X-Two: a", "X-Two: b:c", "Content-Length: 0"] {
      #expect(head.split(separator: "\r\n").contains(Substring(line)), "\(line) in \(head)")
    }
    let fields = response.headers.map { "\($0.name)=\($0.value)" }
    #expect(
      fields == ["Transfer-Encoding=chunked", "X-Empty=", "X-Folded=one two", "Set-Cookie=a=b, c", "set-cookie=d"])
    #expect(response.body == Array("ok".utf8))
  }

  @Test func `stops the sender of a stream whose reader is slow, and loses nothing`() async throws {
    let body = [[UInt8]](repeating: Array(0...250), count: 16_000).flatMap { $0 }
    let server = try LoopbackServer { connection in
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
      connection.write(body)
    }
    let stream = try await URLSessionTransport().open(TransportRequest(method: "GET", url: server.url))
    var (received, largest) = ([UInt8](), 0)
    for try await chunk in stream.body {
      received += chunk
      largest = max(largest, chunk.count)
    }
    #expect(received == body)
    #expect(largest <= 256 << 10)
  }

  @Test func `ends a request on the wire when its caller is cancelled`() async throws {
    let (came, gone) = (Gate(), Gate())
    let server = try LoopbackServer { connection in
      came.open()
      while !connection.hasGone(within: .milliseconds(50)) {}
      gone.open()
    }
    let call = Task { try await URLSessionTransport().send(TransportRequest(method: "GET", url: server.url)) }
    await came.wait()
    call.cancel()
    await #expect(throws: TransportError.cancelled) { try await call.value }
    await gone.wait()
    withExtendedLifetime(server) {}
  }
  #endif
}
