#if Programs
import HandstampCore
import HandstampSupport
import HandstampTesting

@testable import HandstampCommand
@testable import HandstampCommandLine

/// A remote server that answers as a test says, and a bridge before it.
final class FakeRemote: Transport {
  struct Answer: Sendable {
    var status = 200
    var headers: [(String, String)] = []
    var parts: [String] = []
    /// Whether the connection breaks after the parts.
    var breaks = false
    /// Called with the open body instead of its end.
    var stays: (@Sendable (AsyncThrowingStream<[UInt8], any Error>.Continuation) -> Void)?

    static func json(_ text: String, status: Int = 200, headers: [(String, String)] = []) -> Answer {
      Answer(status: status, headers: [("Content-Type", "application/json")] + headers, parts: [text])
    }
  }

  private let script: @Sendable (TransportRequest, _ number: Int) -> Answer
  private let seen = Locked<[TransportRequest]>([])

  /// - Parameter script: Answers a request; the first one has the number 1.
  init(_ script: @escaping @Sendable (TransportRequest, Int) -> Answer) { self.script = script }

  /// The requests so far.
  var requests: [TransportRequest] { seen.withLock { $0 } }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    let number = seen.withLock { seen in
      seen.append(request)
      return seen.count
    }
    let answer = script(request, number)
    let (body, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    for part in answer.parts { continuation.yield(Array(part.utf8)) }
    if let stays = answer.stays {
      stays(continuation)
    } else {
      continuation.finish(throwing: answer.breaks ? TransportError.connectionLost("cut") : nil)
    }
    return TransportStream(status: answer.status, headers: answer.headers.map { HeaderField($0.0, $0.1) }, body: body)
  }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let stream = try await open(request)
    return TransportResponse(status: stream.status, headers: stream.headers)
  }

  /// Runs a bridge until its client's messages have ended. Returns what the client has read.
  ///
  /// - Parameters:
  ///   - failing: How many tokens cannot be had at first.
  ///   - oneByOne: Whether the client waits for the answer of a request, and then for `pause`, before its next message.
  ///   - backOff: The waits of the stream that belongs to no request.
  func bridge(
    _ messages: [String], failing: Int = 0, oneByOne: Bool = false, _ tokens: FakeTokens? = nil,
    backOff: RetryPolicy = StreamPosition.usualBackOff, pause: @escaping @Sendable () async -> Void = {}
  ) async throws -> (lines: [String], tokens: FakeTokens) {
    let client = FakeClient(messages, oneByOne: oneByOne, pause: pause)
    let tokens = tokens ?? FakeTokens(failing: failing)
    let bridge = Bridge(try RemoteServer(parsing: "https://x.org/mcp"), tokens, over: self, client, backOff: backOff)
    await bridge.run()
    return (client.lines, tokens)
  }

  /// Runs a bridge to `url` whose client waits for each answer, and then for `pause` before its next message. Returns what the
  /// client has read.
  func bridge(
    _ messages: [String], to url: String, _ access: any BridgeCredentials,
    pause: @escaping @Sendable () async -> Void = {}
  ) async throws -> [String] {
    let client = FakeClient(messages, oneByOne: true, pause: pause)
    await Bridge(try RemoteServer(parsing: url), access, over: self, client).run()
    return client.lines
  }
}

/// Tokens `t1`, `t2` and so on.
actor FakeTokens: BridgeCredentials {
  private nonisolated let used = Locked(0)
  private nonisolated let asked = Locked<[[String]]>([])
  private var failing: Int
  private var number = 1
  private nonisolated let ends = AsyncStream.makeStream(of: Void.self)

  init(failing: Int = 0) { self.failing = failing }

  /// Signs out in another program.
  nonisolated func signOut() { ends.continuation.yield() }

  nonisolated func sessionEnd() async -> CommandError? {
    for await _ in ends.stream { return CommandError(.signInNeeded, "not signed in", hint: "run: handstamp login") }
    return nil
  }

  /// How many tokens were asked for.
  nonisolated var count: Int { used.withLock { $0 } }
  /// The scopes that were asked for in addition.
  nonisolated var steps: [[String]] { asked.withLock { $0 } }

  func token() async throws(CommandError) -> AccessToken? {
    used.withLock { $0 += 1 }
    guard failing == 0 else {
      failing -= 1
      throw CommandError(.signInNeeded, "not signed in", hint: "run: handstamp login")
    }
    return AccessToken("t\(number)")
  }

  func token(
    insteadOf refused: AccessToken?, _ challenge: ReceivedChallenge?
  ) async throws(CommandError) -> AccessToken {
    number += 1
    return AccessToken("t\(number)")
  }

  func stepUp(_ challenge: ReceivedChallenge) async -> CommandError {
    asked.withLock { $0.append(challenge.scopes) }
    return CommandError(.signInNeeded, "more access: \(challenge.scopes.joined())", hint: "grant it")
  }

  func conclude() async {}
}

/// The program in front of a bridge.
private final class FakeClient: BridgeEnds {
  private struct Content: Sendable {
    var rest: [String]
    var awaited = 0
    var lines: [String] = []
  }
  private let content: Watched<Content>
  private let isPatient: Bool
  private let pause: @Sendable () async -> Void

  init(_ messages: [String], oneByOne: Bool, pause: @escaping @Sendable () async -> Void = {}) {
    content = Watched(Content(rest: messages))
    isPatient = oneByOne
    self.pause = pause
  }

  var lines: [String] { content.value.lines }

  func read() async -> [UInt8]? {
    if isPatient { await content.wait { $0.lines.count >= $0.awaited } }
    if content.value.awaited > 0, !content.value.rest.isEmpty { await pause() }
    return content.change { content in
      guard !content.rest.isEmpty else { return nil }
      let text = content.rest.removeFirst()
      if text.contains("\"id\"") { content.awaited += 1 }
      return Array((text + "\n").utf8)
    }
  }

  func write(_ message: [UInt8]) async -> Bool {
    content.change { $0.lines.append(String(decoding: message, as: UTF8.self)) }
    return true
  }
}
#endif
