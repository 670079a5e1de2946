#if Programs
import Foundation
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `HTTP conformance` {
  func answers(to text: String) async throws -> String {
    try await TestServer.run { test in try await RawConnection.exchange(text, with: test.client.base) }
  }

  @Test(arguments: [
    "", "Host: a\r\nHost: a\r\n", "Host: a b\r\n", "Host: a/b\r\n", "Host: a:b\r\n", "Host: [::1\r\n",
    "Host: [zz/]\r\n",
    "Host: a@b\r\n", "Host: a,b:80:80\r\n",
  ])
  func `a request without exactly one valid Host is refused (RFC 9112 section 3.2)`(fields: String) async throws {
    let answer = try await answers(to: "GET /health HTTP/1.1\r\n\(fields)\r\n")
    #expect(answer.hasPrefix("HTTP/1.1 400 "))
    #expect(answer.lowercased().contains("connection: close"))
  }

  @Test(arguments: ["", "localhost", "127.0.0.1:80", "[::1]:8080", "[::1]", "id.example.org:", "a_b%20c.example"])
  func `any valid Host is accepted`(host: String) async throws {
    #expect(try await answers(to: "GET /health HTTP/1.1\r\nHost: \(host)\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
  }

  @Test func `a refusal does not overtake an earlier response`() async throws {
    let answer = try await answers(to: "GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET /health HTTP/1.1\r\n\r\n")
    #expect(answer.hasPrefix("HTTP/1.1 200 "))
    #expect(answer.components(separatedBy: "HTTP/1.1 ").map { $0.prefix(3) } == ["", "200", "400"])
  }

  @Test(arguments: [
    "GET /health HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
    "POST /v1/sign-in HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ])
  func `a connection that cannot be read any further is closed`(request: String) async throws {
    let answer = try await TestServer.run { test in
      try await RawConnection.exchange(request, with: test.client.base, keepingOpen: true)
    }
    #expect(answer.lowercased().contains("connection: close\r\n"))
  }

  /// Sent by a client that keeps its sending side open, and reads until the server closes.
  @Test(
    .timeLimit(.minutes(10)),
    arguments: [
      "GET /health HTTP/1.0\r\n\r\n", "GET /health HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n",
      "GET /health HTTP/1.1\r\nHost: a\r\nConnection: foo, close\r\n\r\n",
    ])
  func `a connection that is not kept alive is closed after the response`(request: String) async throws {
    let answer = try await TestServer.run { test in
      try await RawConnection.exchange(request, with: test.client.base, keepingOpen: true)
    }
    #expect(answer.contains(" 200 OK\r\n"))
    #expect(answer.lowercased().contains("connection: close\r\n"))
    #expect(answer.hasSuffix(#"{"status":"ok"}"#))
  }

  @Test func `HTTP 1 dot 0 may request keep-alive, and gets no chunks`() async throws {
    let get = "GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    let answer = try await answers(to: get + get)
    #expect(answer.components(separatedBy: "HTTP/1.0 200 OK").count == 3)
    #expect(answer.lowercased().contains("connection: keep-alive"))
    #expect(!answer.lowercased().contains("transfer-encoding"))
  }

  @Test(arguments: ["/v1/sign-in", "/oauth/token"]) func `an invalid chunk is answered with 400`(path: String)
    async throws
  {
    let type = path == "/oauth/token" ? "application/x-www-form-urlencoded" : "application/json"
    let answer = try await answers(
      to: "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n")
    #expect(answer.hasPrefix("HTTP/1.1 400 "))
    #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2)
  }

  @Test func `JSON must be UTF-8`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let text = TestServer.signInBody("ada@example.org")
      let bodies: [[UInt8]] = [
        Array(text.utf16).flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] },
        Array(text.unicodeScalars).flatMap { [0, 0, 0, UInt8($0.value)] },
        Array(text.utf8.dropLast(3)) + [0xFF] + Array(text.utf8.suffix(3)),
      ]
      for body in bodies {
        let answer = try await test.client.send(
          "POST", "/v1/sign-in", headers: ["Content-Type": "application/json; charset=utf-16"], body: body)
        #expect(answer.status == 400)
        #expect(answer.code == "invalid_request")
      }
    }
  }
}
#endif
