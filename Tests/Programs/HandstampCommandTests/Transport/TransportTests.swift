#if Programs
import HandstampCore
import HandstampTransports
import Hummingbird
import Logging
import NIOCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

@Suite(.timeLimit(.minutes(10))) struct `A transport over AsyncHTTPClient, and one over libcurl,` {
  @Test(arguments: NetworkTransport.allCases)
  func `sends method, header fields and body, and returns status, fields and body`(_ kind: NetworkTransport)
    async throws
  {
    let transport = kind.make()
    try await Echo.run { base, _ in
      let answer = try await transport.send(
        TransportRequest(
          method: "PUT", url: base + "/echo?a=b", headers: [HeaderField("X-Word", "hello")], body: Array("body".utf8)))
      #expect(answer.status == 200)
      #expect(answer.header("x-echo") == "PUT /echo?a=b hello")
      #expect(String(decoding: answer.body, as: UTF8.self) == "body")
    }
  }

  @Test(arguments: NetworkTransport.allCases)
  func `follows no redirect: the 3xx is the response`(_ kind: NetworkTransport) async throws {
    let transport = kind.make()
    try await Echo.run { base, seen in
      let answer = try await transport.send(
        TransportRequest(
          method: "GET", url: base + "/redirect", headers: [HeaderField("Authorization", "Bearer secret")]))
      #expect(answer.status == 307)
      #expect(answer.header("location") == "/echo")
      #expect(seen.paths == ["/redirect"])
    }
  }

  @Test(arguments: NetworkTransport.allCases, ["/long", "/chunked"])
  func `accepts no more than the request allows, announced or not`(_ kind: NetworkTransport, path: String) async throws
  {
    let transport = kind.make()
    try await Echo.run { base, _ in
      let exact = TransportRequest(method: "GET", url: base + path, maximumResponseSize: 1000)
      let whole = try await transport.send(exact)
      #expect(whole.body.count == 1000)
      let short = TransportRequest(method: "GET", url: base + path, maximumResponseSize: 999)
      await #expect(throws: TransportError.tooLarge) { try await transport.send(short) }
    }
  }

  @Test(arguments: NetworkTransport.allCases, ["/silent", "/endless"])
  func `waits for the whole response until the timeout, and no longer`(_ kind: NetworkTransport, path: String)
    async throws
  {
    let transport = kind.make()
    try await Echo.run { base, _ in
      let request = TransportRequest(method: "GET", url: base + path, timeout: .milliseconds(300))
      let start = ContinuousClock.now
      await #expect(throws: TransportError.timedOut) { try await transport.send(request) }
      let time = ContinuousClock.now - start
      #expect(time >= .milliseconds(300))
    }
  }

  @Test(arguments: NetworkTransport.allCases, ["/silent", "/endless"])
  func `ends a request on the wire when its task is cancelled`(_ kind: NetworkTransport, path: String) async throws {
    let transport = kind.make()
    try await Echo.run { base, seen in
      let task = Task { try await transport.send(TransportRequest(method: "GET", url: base + path)) }
      try await seen.began.value()
      task.cancel()
      await #expect(throws: TransportError.cancelled) { try await task.value }
      try await within(.seconds(240), "the server's notice") { try await seen.left.value() }
    }
  }

  @Test(arguments: NetworkTransport.allCases)
  func `reports a refused connection at once`(_ kind: NetworkTransport) async throws {
    let transport = kind.make()
    await #expect(throws: TransportError.notConnected("connection refused")) {
      try await transport.send(TransportRequest(method: "GET", url: "http://127.0.0.1:9/"))
    }
  }

  @Test(arguments: NetworkTransport.allCases)
  func `distinguishes a broken connection from a response`(_ kind: NetworkTransport) async throws {
    let transport = kind.make()
    try await Echo.run { base, _ in
      await #expect(throws: TransportError.connectionLost("the connection broke")) {
        try await transport.send(TransportRequest(method: "GET", url: base + "/break"))
      }
    }
  }

  @Test(arguments: [
    TransportRequest(method: "GET", url: "nonsense"), TransportRequest(method: "GET", url: "ftp://127.0.0.1/"),
    TransportRequest(method: "GET", url: "http+unix://%2Ftmp%2Fx/"), TransportRequest(method: "GET", url: "http:///x"),
    TransportRequest(method: "GET /x HTTP/1.1\r\nX: y", url: "http://127.0.0.1:9/"),
    TransportRequest(method: "", url: "http://127.0.0.1:9/"),
    TransportRequest(method: "GET", url: "http://127.0.0.1:9/", headers: [HeaderField("X", "a\r\nY: b")]),
    TransportRequest(method: "GET", url: "http://127.0.0.1:9/", headers: [HeaderField("X Y", "a")]),
  ])
  func `does not send an invalid request`(request: TransportRequest) async throws {
    for kind in NetworkTransport.allCases {
      let transport = kind.make()
      let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
      guard case .invalidRequest? = error else {
        Issue.record("\(kind): \(String(describing: error))")
        continue
      }
    }
  }

  @Test(arguments: NetworkTransport.allCases)
  func `delivers a stream chunk by chunk, and ends it when its reader stops`(_ kind: NetworkTransport) async throws {
    let transport = kind.make()
    try await Echo.run { base, seen in
      let stream = try await transport.open(TransportRequest(method: "GET", url: base + "/endless"))
      #expect(stream.status == 200)
      let reader = Task {
        var count = 0
        for try await chunk in stream.body {
          count += chunk.count
          if count >= 20 { return count }
        }
        return count
      }
      #expect(try await reader.value >= 20)
      let waiting = Task { for try await _ in stream.body {} }
      waiting.cancel()
      _ = await waiting.result
      try await within(.seconds(240), "the server's notice") { try await seen.left.value() }
    }
  }

  @Test func `sends requests, however many streams are open`() async throws {
    let transport = AsyncHTTPTransport()
    try await Echo.run { base, _ in
      var streams: [TransportStream] = []
      for number in 0..<40 {
        streams.append(
          try await transport.open(
            TransportRequest(method: "GET", url: base + "/endless", mayReuseConnection: number.isMultiple(of: 2))))
      }
      for mayReuse in [true, false] {
        let answer = try await transport.send(
          TransportRequest(method: "GET", url: base + "/echo", mayReuseConnection: mayReuse))
        #expect(answer.status == 200)
      }
      await transport.shutdown()
      #expect(streams.allSatisfy { $0.status == 200 })
    }
  }

  @Test func `fails after shutdown`() async throws {
    let transport = AsyncHTTPTransport()
    try await Echo.run { base, _ in
      _ = try await transport.send(TransportRequest(method: "GET", url: base + "/echo"))
      await transport.shutdown()
      await #expect(throws: TransportError.notConnected("the transport has been shut down")) {
        try await transport.send(TransportRequest(method: "GET", url: base + "/echo"))
      }
      await transport.shutdown()
    }
  }

  @Test(arguments: NetworkTransport.allCases)
  func `survives a storm of cancellations`(_ kind: NetworkTransport) async throws {
    // Connections are slow on a busy machine.
    let transport = kind.make(connectTimeout: .seconds(600))
    try await Echo.run { base, _ in
      let request = TransportRequest(method: "GET", url: base + "/echo", timeout: .seconds(600))
      let tasks = (0..<300).map { _ in
        Task { try await transport.send(request) }
      }
      for (index, task) in tasks.enumerated() where index.isMultiple(of: 2) { task.cancel() }
      for (index, task) in tasks.enumerated() where !index.isMultiple(of: 2) {
        let answer = try await task.value
        #expect(answer.status == 200)
      }
      for task in tasks { _ = await task.result }
    }
  }
}
#endif
