#if Programs
import Foundation
import HandstampServer
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A slow client` {
  private static let head = "GET /health HTTP/1.1\r\nHost: a\r\n"
  private static let post = "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"

  @Test func `that never ends its header fields is answered 408, however steadily it sends`() async throws {
    try await TestServer.run {
      $0.listener.headLimit = .milliseconds(200)
    } body: { test in
      let slow = try RawSocket(test.client.base)
      slow.send(Self.head + "X-Slow: ")
      await slow.drip(Array(repeating: UInt8(ascii: "x"), count: 2000), every: .milliseconds(10))
      let (answer, end) = await slow.receive()
      #expect(answer.hasPrefix("HTTP/1.1 408 "))
      #expect(answer.lowercased().contains("connection: close\r\n"))
      #expect(answer.contains(#""code":"request_timeout""#))
      #expect(end == .closed)
      // Another request may be as slow, on a busy machine.
      #expect(test.metrics.slowRequests >= 1)
      #expect(test.logs.text.contains("Slow request ended"))
    }
  }

  @Test func `may begin its next request as late as any other`() async throws {
    try await TestServer.run {
      $0.listener.headLimit = .milliseconds(200)
      $0.idleConnectionLimit = .seconds(60)
    } body: { test in
      let client = try RawSocket(test.client.base)
      for _ in 0..<2 {
        client.send(Self.head + "\r\n")
        #expect(await client.receive(until: "ok\"}").text.hasPrefix("HTTP/1.1 200 "))
        #expect(await client.isSilent(for: .milliseconds(400)))
      }
      client.send("GET")
      #expect(await client.receive().text.hasPrefix("HTTP/1.1 408 "))
    }
  }

  @Test(arguments: ["Content-Length: 2000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n7d0\r\n"])
  func `that sends a body byte by byte is answered 408`(fields: String) async throws {
    try await TestServer.run {
      $0.listener.bodyLimit = .milliseconds(200)
      $0.listener.bodyRate = 1000
    } body: { test in
      let slow = try RawSocket(test.client.base)
      slow.send(Self.post + fields)
      await slow.drip(Array(repeating: UInt8(ascii: " "), count: 2000), every: .milliseconds(20))
      let (answer, end) = await slow.receive()
      #expect(answer.hasPrefix("HTTP/1.1 408 "))
      #expect(end == .closed)
      #expect(test.metrics.slowRequests == 1)
    }
  }

  @Test func `that sends a body fast enough has more time the more it sends`() async throws {
    try await TestServer.run {
      $0.listener.bodyLimit = .milliseconds(1)
      $0.listener.bodyRate = 100
    } body: { test in
      let client = try RawSocket(test.client.base)
      let body = #"{"email":"ada@example.org"}"# + String(repeating: " ", count: 2000)
      client.send(Self.post + "Content-Length: \(body.utf8.count)\r\n\r\n" + body.dropLast(10))
      await client.drip(Array(body.utf8.suffix(10)), every: .milliseconds(20))
      #expect(await client.receive(until: "\r\n\r\n").text.hasPrefix("HTTP/1.1 400 "))
      #expect(test.metrics.slowRequests == 0)
    }
  }

  @Test func `that does not read its answer is disconnected`() async throws {
    try await TestServer.run {
      $0.listener.writeLimit = .milliseconds(200)
      $0.appConfig = #"{"text":"\#(String(repeating: "x", count: 16_000_000))"}"#
    } body: { test in
      let reader = try RawSocket(test.client.base, receiveBuffer: 4096)
      reader.send("GET /v1/app-config HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(await eventually { test.metrics.slowReaders == 1 })
      #expect(await eventually { test.metrics.openConnections == 0 })
      let (answer, end) = await reader.receive()
      #expect(end != .open)
      #expect(answer.utf8.count < 16_000_000)
      #expect(test.logs.text.contains("Connection closed: the client accepts no data"))
    }
  }

  @Test func `that sends nothing is disconnected without an answer`() async throws {
    try await TestServer.run {
      // A request that follows at once is not late, even on a busy machine.
      $0.idleConnectionLimit = .seconds(2)
    } body: { test in
      let silent = try RawSocket(test.client.base)
      #expect(await silent.receive() == ("", .closed))
      let previous = try RawSocket(test.client.base)
      previous.send(Self.head + "\r\n")
      let (answer, end) = await previous.receive()
      #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2)
      #expect(end == .closed)
      #expect(test.metrics.slowRequests == 0)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A large request` {
  @Test(arguments: ["a long path", "a long field", "many long fields", "many fields"])
  func `is answered 431 if its head is too large`(kind: String) async throws {
    let long = String(repeating: "x", count: 17_000)
    let request =
      switch kind {
      case "a long path": "GET /health?\(long) HTTP/1.1\r\nHost: a\r\n\r\n"
      case "a long field": "GET /health HTTP/1.1\r\nHost: a\r\nX: \(long)\r\n\r\n"
      case "many long fields":
        "GET /health HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: \(long.prefix(1000))\r\n", count: 17) + "\r\n"
      default: "GET /health HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 100) + "\r\n"
      }
    try await TestServer.run { test in
      let client = try RawSocket(test.client.base)
      client.send(request)
      let (answer, end) = await client.receive()
      #expect(answer.hasPrefix("HTTP/1.1 431 "))
      #expect(answer.contains(#""code":"head_too_large""#))
      #expect(answer.lowercased().contains("x-content-type-options: nosniff\r\n"))
      #expect(end == .closed)
    }
  }

  @Test func `with a hundred fields is answered`() async throws {
    try await TestServer.run { test in
      let client = try RawSocket(test.client.base)
      client.send("GET /health HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 99) + "\r\n")
      #expect(await client.receive(until: "ok\"}").text.hasPrefix("HTTP/1.1 200 "))
    }
  }

  /// Closing a connection with unread data takes the answer away from the client.
  @Test(arguments: [true, false], [true, false])
  func `gets its 413 in whole although it is still being sent`(isDeclared: Bool, isKept: Bool) async throws {
    try await TestServer.run { test in
      let client = try RawSocket(test.client.base)
      let size = 1 << 20
      client.send(
        "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
          + (isKept ? "" : "Connection: close\r\n")
          + (isDeclared ? "Content-Length: \(size)\r\n\r\n" : "Transfer-Encoding: chunked\r\n\r\n100000\r\n"))
      client.send(Array(repeating: UInt8(ascii: " "), count: size))
      if !isDeclared { client.send("\r\n0\r\n\r\n") }
      client.send("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      let (answer, end) = await client.receive()
      #expect(answer.hasPrefix("HTTP/1.1 413 "))
      #expect(answer.contains(#""code":"too_large""#))
      #expect(answer.contains("HTTP/1.1 200 ") == isKept)
      #expect(end == .closed)
    }
  }

  @Test func `has a time for its rest`() async throws {
    try await TestServer.run {
      $0.listener.bodyLimit = .milliseconds(100)
    } body: { test in
      let client = try RawSocket(test.client.base)
      client.send(
        "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n")
      #expect(await client.receive(until: "bytes are accepted").text.hasPrefix("HTTP/1.1 413 "))
      await client.drip(Array(repeating: UInt8(ascii: " "), count: 1000), every: .milliseconds(20))
      #expect(await client.receive().end != .open)
      #expect(await eventually { test.metrics.openConnections == 0 })
    }
  }
}
#endif
