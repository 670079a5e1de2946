import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

/// Connections whose peer is the test.
final class TestWires: MessageConnector {
  final class Wire: MessageConnection {
    let request: TransportRequest
    let incoming: AsyncThrowingStream<IncomingMessage, any Error>
    let arrives: AsyncThrowingStream<IncomingMessage, any Error>.Continuation
    let sent = Locked<[WireMessage]>([])
    let pings = Locked(0)
    let closed = Gate()

    init(_ request: TransportRequest) {
      self.request = request
      (incoming, arrives) = AsyncThrowingStream.makeStream()
    }

    @concurrent func send(_ message: WireMessage) async throws(TransportError) { sent.withLock { $0.append(message) } }
    @concurrent func ping() async throws(TransportError) {
      pings.withLock { $0 += 1 }
      arrives.yield(.heartbeat)
    }
    func close() {
      arrives.finish()
      closed.open()
    }
    func say(_ text: String) { arrives.yield(.message(.text(text))) }
  }

  private let wires: AsyncStream<Wire>
  private let continuation: AsyncStream<Wire>.Continuation
  private let refusals: Locked<[MessageError]>

  init(refusals: [MessageError] = []) {
    self.refusals = Locked(refusals)
    (wires, continuation) = AsyncStream.makeStream()
  }

  func next() async throws -> Wire {
    for await wire in wires { return wire }
    throw CancellationError()
  }

  @concurrent func open(_ request: TransportRequest) async throws(MessageError) -> any MessageConnection {
    if let refusal = refusals.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw refusal }
    let wire = Wire(request)
    continuation.yield(wire)
    return wire
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A stream of messages` {
  private let clock = ManualClock()

  /// A message is its own id up to the colon.
  private let id: @Sendable (WireMessage) -> String? = { message in
    guard case .text(let text) = message else { return nil }
    return text.split(separator: ":").first.map(String.init)
  }

  private func start(
    _ wires: TestWires
  ) async throws -> (stream: MessageStream, controller: SessionController) {
    let controller = SessionController(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet, clock: clock)
    try await controller.signIn { .sample(0) }
    let options = StreamOptions(heartbeat: .seconds(10), missedHeartbeats: 1_000_000, retry: RetryPolicy(base: .zero))
    let stream = MessageStream(
      try #require(URL(string: "wss://api.example.org/live")), controller: controller, connector: wires,
      options: options, id: id)
    return (stream, controller)
  }

  @Test func `resumes after a break, with each message once`() async throws {
    let wires = TestWires()
    let (stream, controller) = try await start(wires)
    var reader = stream.makeAsyncIterator()
    let one = try await wires.next()
    #expect(one.request.headers.first(named: "Authorization") == "Bearer access-s1-0")
    one.say("1:a")
    #expect(try await reader.next() == .text("1:a"))
    one.arrives.finish()
    let two = try await wires.next()
    #expect(two.request.headers.first(named: "Last-Event-ID") == "1")
    two.say("2:b")
    #expect(try await reader.next() == .text("2:b"))
    await controller.signOut()
    await #expect(throws: SessionError.signedOut(.signedOut)) { try await reader.next() }
    await two.closed.wait()
  }

  @Test func `pings the server, and sends over the current connection`() async throws {
    let wires = TestWires()
    let (stream, _) = try await start(wires)
    await #expect(throws: TransportError.self) { try await stream.send(.text("too early")) }
    let reading = Task { for try await _ in stream {} }
    let wire = try await wires.next()
    for _ in 0..<20 {
      // The stream's watchdog, its open limit, its renewal, and the sender of pings.
      await clock.sleepers(4)
      clock.advance(by: .seconds(10))
    }
    await clock.sleepers(4)
    #expect(wire.pings.withLock { $0 } == 20)
    try await stream.send(.text("hello"))
    #expect(wire.sent.withLock { $0 } == [.text("hello")])
    reading.cancel()
    await wire.closed.wait()
  }

  @Test func `reports the response that refused an upgrade`() async throws {
    let wires = TestWires(refusals: [
      .transport(.timedOut), .status(503, retryAfter: nil), .status(403, retryAfter: nil),
    ])
    let (stream, _) = try await start(wires)
    var reader = stream.makeAsyncIterator()
    await #expect(throws: SessionError.refused(code: "status_403", detail: nil)) { try await reader.next() }
  }
}
