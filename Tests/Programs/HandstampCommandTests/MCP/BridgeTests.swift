#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine

@Suite(.timeLimit(.minutes(10))) struct `A bridge` {
  private static let call = #"{"jsonrpc": "2.0","id":7,  "method":"tools/call","params":{"name":"x"}}"#
  private static let answer = #"{"jsonrpc":"2.0","id":7,"result":{"big":12345678901234567890}}"#
  private static let events = ("Content-Type", "text/event-stream")

  @Test func `passes messages unchanged, with the token`() async throws {
    let remote = FakeRemote { _, _ in .json(Self.answer) }
    let (client, tokens) = try await remote.bridge([Self.call])
    #expect(client == [Self.answer])
    #expect(remote.requests.map(\.body) == [Array(Self.call.utf8)])
    #expect(remote.requests[0].headers.first(named: "Authorization") == "Bearer t1")
    #expect(tokens.count == 1)
  }

  @Test func `replaces a refused token once, and repeats the request`() async throws {
    let remote = FakeRemote { request, _ in
      request.headers.first(named: "Authorization") == "Bearer t2" ? .json(Self.answer) : FakeRemote.Answer(status: 401)
    }
    #expect(try await remote.bridge([Self.call]).lines == [Self.answer])
    let stubborn = FakeRemote { _, _ in FakeRemote.Answer(status: 401) }
    let lines = try await stubborn.bridge([Self.call]).lines
    #expect(stubborn.requests.count == 2 && lines.count == 1 && lines[0].contains(#""code":"token_rejected""#))
  }

  @Test func `answers a request whose token cannot be had with the next step, and works again later`() async throws {
    let remote = FakeRemote { _, _ in .json(Self.answer) }
    let lines = try await remote.bridge([Self.call, Self.call], failing: 1).lines
    let refused = try #require(lines.first { $0.contains("error") })
    #expect(refused.contains(#""id":7"#) && refused.contains("run: handstamp login"))
    #expect(lines.contains(Self.answer) && remote.requests.count == 1)
  }

  @Test func `asks for more access once, and says so`() async throws {
    let remote = FakeRemote { _, _ in
      FakeRemote.Answer(
        status: 403, headers: [("WWW-Authenticate", #"Bearer error="insufficient_scope", scope="w""#)])
    }
    let (lines, tokens) = try await remote.bridge([Self.call])
    #expect(lines.count == 1 && lines[0].contains("more access: w") && tokens.steps == [["w"]])
  }

  @Test func `passes an error of the server on, under the ID of the request`() async throws {
    let error = #"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"m","data":[1]}}"#
    let own = FakeRemote { _, _ in .json(error, status: 400) }
    #expect(try await own.bridge([Self.call]).lines == [error])
    let other = FakeRemote { _, _ in
      .json(#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"m"}}"#, status: 400)
    }
    #expect(
      try await other.bridge([Self.call]).lines == [#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"m"}}"#])
    let none = FakeRemote { _, _ in FakeRemote.Answer(status: 503, parts: ["<html>"]) }
    #expect(try await none.bridge([Self.call]).lines[0].contains(#""code":"status_503""#))
  }

  @Test func `resumes a stream that broke off, after the last event`() async throws {
    let remote = FakeRemote { request, _ in
      if request.method == "POST" {
        return FakeRemote.Answer(
          headers: [Self.events], parts: ["id: e1\nretry: 1\ndata:\n\n", "id: e2\ndata: {\"method\":\"n\"}\n\n"],
          breaks: true)
      }
      return FakeRemote.Answer(headers: [Self.events], parts: ["id: e3\ndata: \(Self.answer)\n\n"])
    }
    #expect(try await remote.bridge([Self.call]).lines == [#"{"method":"n"}"#, Self.answer])
    #expect(remote.requests.map { $0.headers.first(named: "Last-Event-ID") } == [nil, "e2"])
  }

  @Test func `says that a response is lost, and does not repeat the request`() async throws {
    let remote = FakeRemote { _, _ in FakeRemote.Answer(headers: [Self.events], parts: ["data: {"], breaks: true) }
    let lines = try await remote.bridge([Self.call]).lines
    #expect(lines.count == 1 && lines[0].contains("may have carried out") && remote.requests.count == 1)
  }

  @Test func `begins another session if the server has forgotten the first, and repeats the request`() async throws {
    let remote = FakeRemote { request, number in
      let text = String(decoding: request.body, as: UTF8.self)
      if request.method == "GET" { return FakeRemote.Answer(status: 405) }
      if text.contains("initialize\"") {
        return .json(
          #"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}"#,
          headers: [("Mcp-Session-Id", "s\(number)")])
      }
      if text.contains("initialized") { return FakeRemote.Answer(status: 202) }
      if request.method == "DELETE" { return FakeRemote.Answer(status: 200) }
      return request.headers.first(named: "Mcp-Session-Id") == "s1"
        ? FakeRemote.Answer(status: 404) : .json(Self.answer)
    }
    let opening = #"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#
    let lines = try await remote.bridge(
      [opening, #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, Self.call], oneByOne: true
    ).lines
    #expect(lines.count == 2 && lines[1] == Self.answer, "the client sees one initialize: \(lines)")
    let bodies = remote.requests.filter { $0.method == "POST" }.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies.filter { $0 == opening }.count == 2 && bodies.filter { $0 == Self.call }.count == 2)
    let end = try #require(remote.requests.first { $0.method == "DELETE" })
    #expect(end.headers.first(named: "Mcp-Session-Id") != "s1")
  }

  @Test func `tries to begin another session again, after it has failed`() async throws {
    let openings = Locked(0)
    let remote = FakeRemote { request, number in
      let text = String(decoding: request.body, as: UTF8.self)
      if request.method == "GET" { return FakeRemote.Answer(status: 405) }
      if text.contains("initialize\"") {
        // The second one, of the bridge, fails.
        let count = openings.withLock { count in
          count += 1
          return count
        }
        if count == 2 { return FakeRemote.Answer(status: 503) }
        return .json(#"{"jsonrpc":"2.0","id":1,"result":{}}"#, headers: [("Mcp-Session-Id", "s\(number)")])
      }
      if text.contains("initialized") { return FakeRemote.Answer(status: 202) }
      return request.headers.first(named: "Mcp-Session-Id") == "s1"
        ? FakeRemote.Answer(status: 404) : .json(Self.answer)
    }
    let messages = [
      #"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    ]
    let lines = try await remote.bridge(messages + [Self.call, Self.call], oneByOne: true).lines
    #expect(lines.count == 3 && lines[1].contains("status_404") && lines[2] == Self.answer, "\(lines)")
  }

  @Test(arguments: ["x", "[]", #"{"id":1}"#])
  func `answers garbage with a parse error, and goes on`(text: String) async throws {
    let remote = FakeRemote { _, _ in .json(Self.answer) }
    let lines = try await remote.bridge([text, Self.call]).lines
    #expect(lines.count == 2 && lines.contains { $0.contains("-32700") && $0.contains(#""id":null"#) })
    #expect(lines.contains(Self.answer))
  }

  @Test func `does not follow a redirect with the token`() async throws {
    let remote = FakeRemote { _, _ in FakeRemote.Answer(status: 307, headers: [("Location", "https://evil.org/")]) }
    let lines = try await remote.bridge([Self.call]).lines
    #expect(remote.requests.count == 1 && lines[0].contains("redirects to https://evil.org/"))
  }

  /// As after a machine has slept: five attempts in a row have failed.
  @Test func `listens again once a request succeeds, after the server was gone`() async throws {
    let asked = Watched(0)
    let heard = Watched(false)
    let remote = FakeRemote { request, _ in
      let text = String(decoding: request.body, as: UTF8.self)
      if request.method == "GET" {
        guard
          asked.change({ count in
            count += 1
            return count > 6
          })
        else { return FakeRemote.Answer(status: 503) }
        heard.change { $0 = true }
        return FakeRemote.Answer(headers: [Self.events], parts: ["data: {\"method\":\"n\"}\n\n"]) { _ in }
      }
      if text.contains("initialize\"") { return .json(#"{"jsonrpc":"2.0","id":1,"result":{}}"#) }
      return text.contains("initialized") ? FakeRemote.Answer(status: 202) : .json(Self.answer)
    }
    let calls = Locked(0)
    let lines = try await remote.bridge(
      [
        #"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        Self.call, Self.call,
      ], oneByOne: true, backOff: RetryPolicy(base: .milliseconds(1), cap: .milliseconds(2))
    ) {
      let call = calls.withLock { calls in
        calls += 1
        return calls
      }
      // Before the first call the server is gone for the stream alone; after it the stream is there.
      if call == 2 { await asked.wait { $0 >= 6 } }
      if call == 3 { await heard.wait { $0 } }
    }.lines
    #expect(lines.filter { $0 == Self.answer }.count == 2 && asked.value >= 7, "\(lines)")
  }

  @Test func `ends all that is open when another program signs out, and works again after a sign-in`() async throws {
    let open = Locked<[AsyncThrowingStream<[UInt8], any Error>.Continuation]>([])
    let tokens = FakeTokens()
    let remote = FakeRemote { request, _ in
      let text = String(decoding: request.body, as: UTF8.self)
      if text.contains("initialize\"") { return .json(#"{"jsonrpc":"2.0","id":1,"result":{}}"#) }
      if text.contains("initialized") { return FakeRemote.Answer(status: 202) }
      if request.method == "POST", open.withLock({ $0.count == 2 }) { return .json(Self.answer) }
      return FakeRemote.Answer(headers: [Self.events]) { stream in open.withLock { $0.append(stream) } }
    }
    async let result = remote.bridge(
      [
        #"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        Self.call, Self.call,
      ], oneByOne: true, tokens)
    // The stream of its own, and that of a call that takes long.
    #expect(await eventually { open.withLock { $0.count == 2 } })
    let streams = open.withLock { $0 }
    tokens.signOut()
    let lines = try await result.lines
    #expect(lines.count == 3 && lines[1].contains("not signed in") && lines[2] == Self.answer, "\(lines)")
    for stream in streams {
      guard case .terminated = stream.yield(Array("data: {}\n\n".utf8)) else {
        Issue.record("a stream of the ended session is still open")
        continue
      }
    }
    #expect(remote.requests.count { $0.method == "GET" } == 2, "its own stream begins again with the next session")
  }
}
#endif
