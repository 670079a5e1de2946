import Foundation
import HandstampSupport
import HandstampTesting
import Testing

@testable import Handstamp

private struct Call: Endpoint {
  var method = "GET"
  var path: APIPath = "/v1/thing"
  var headers: [HeaderField] = []
  var retryPolicy: RetryPolicy? = RetryPolicy(attempts: 3, cap: .seconds(2))
}

/// A server that answers the n-th request, from 1, as the test says.
private final class Script: Sendable {
  private let count = Locked(0)
  let answer: @Sendable (Int) async throws(TransportError) -> TransportResponse

  init(_ answer: @escaping @Sendable (Int) async throws(TransportError) -> TransportResponse) { self.answer = answer }

  var calls: Int { count.withLock { $0 } }

  func respond() async throws(TransportError) -> TransportResponse {
    let number = count.withLock { count in
      count += 1
      return count
    }
    return try await answer(number)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A call that fails transiently` {
  private let clock = ManualClock()
  private let ok = TransportResponse(status: 200, body: Array("{}".utf8))

  private func client(_ script: Script) async throws -> APIClient {
    let controller = SessionController(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet, clock: clock)
    try await controller.signIn { .sample(0) }
    clock.advance(by: .seconds(60))
    let transport = StubTransport { _ throws(TransportError) in try await script.respond() }
    return APIClient(baseURL: base, controller: controller, transport: transport)
  }

  /// Lets both waits between three attempts pass.
  private func waking<Result: Sendable>(_ task: Task<Result, any Error>) async throws -> Result {
    for _ in 0..<2 {
      await clock.sleepers(1)
      clock.advance(by: .seconds(1))
    }
    return try await task.value
  }

  @Test(arguments: [408, 425, 429, 502, 503, 504])
  func `is retried at most as often as the policy says`(status: Int) async throws {
    let script = Script { _ throws(TransportError) in TransportResponse(status: status) }
    let api = try await client(script)
    let call = Task { try await api.send(Call()) }
    await #expect(throws: APIError.status(status, nil)) { try await waking(call) }
    #expect(script.calls == 3)
  }

  @Test func `succeeds as soon as an attempt does`() async throws {
    let script = Script { [ok] number throws(TransportError) in
      if number < 3 { throw .connectionLost("connection refused") }
      return ok
    }
    let api = try await client(script)
    let call = Task { try await api.send(Call()) }
    _ = try await waking(call)
    #expect(script.calls == 3)
  }

  @Test(arguments: [400, 404, 409, 500, 501])
  func `is final with any other status`(status: Int) async throws {
    let script = Script { _ throws(TransportError) in TransportResponse(status: status) }
    let api = try await client(script)
    await #expect(throws: APIError.status(status, nil)) { try await api.send(Call()) }
    #expect(script.calls == 1)
  }

  @Test func `is sent once if it must not be repeated, whatever the policy says`() async throws {
    let script = Script { _ throws(TransportError) in TransportResponse(status: 503) }
    let api = try await client(script)
    await #expect(throws: APIError.status(503, nil)) { try await api.send(Call(method: "POST")) }
    #expect(script.calls == 1)
    let key = HeaderField("Idempotency-Key", "k")
    let keyed = Task { try await api.send(Call(method: "POST", headers: [key])) }
    await #expect(throws: APIError.status(503, nil)) { try await waking(keyed) }
    #expect(script.calls == 4)
  }

  @Test(arguments: ["POST", "PUT", "DELETE", "PATCH"])
  func `is not retried by default unless it only reads`(method: String) async throws {
    let script = Script { _ throws(TransportError) in TransportResponse(status: 503) }
    let api = try await client(script)
    await #expect(throws: APIError.status(503, nil)) { try await api.send(Call(method: method, retryPolicy: nil)) }
    #expect(script.calls == 1)
  }

  @Test(arguments: [(2, 3), (3, 1)])
  func `waits as long as the server says, up to the cap`(seconds: Int, calls: Int) async throws {
    let script = Script { _ throws(TransportError) in
      TransportResponse(status: 503, headers: [HeaderField("Retry-After", String(seconds))])
    }
    let api = try await client(script)
    let call = Task { try await api.send(Call()) }
    for _ in 1..<calls {
      await clock.sleepers(1)
      clock.advance(by: .seconds(2) - .nanoseconds(1))
      clock.advance(by: .nanoseconds(1))
    }
    await #expect(throws: APIError.status(503, nil)) { try await call.value }
    #expect(script.calls == calls)
  }

  @Test func `ends with the session`() async throws {
    let script = Script { _ throws(TransportError) in TransportResponse(status: 503) }
    let api = try await client(script)
    let call = Task { try await api.send(Call()) }
    await clock.sleepers(1)
    await api.controller.signOut()
    await #expect(throws: APIError.session(.signedOut(.signedOut))) { try await call.value }
    #expect(script.calls == 1)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Retry-After` {
  private let now = UnixTime(seconds: 784_111_777)

  private func delay(_ text: String, date: String? = nil) -> Duration? {
    TransportResponse(
      status: 503, headers: [HeaderField("retry-after", text)] + (date.map { [HeaderField("date", $0)] } ?? [])
    ).retryDelay(at: now)
  }

  @Test(arguments: [
    ("0", 0), ("120", 120), ("99999999999999999999999", 86_400), ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
    ("Sunday, 06-Nov-94 08:49:47 GMT", 10), ("Sun Nov  6 08:49:47 1994", 10), ("Sun, 06 Nov 1994 08:49:00 GMT", 0),
    ("Fri, 01 Jan 2100 00:00:00 GMT", 86_400), ("Sun, 06 Nov 1994 08:49:60 GMT", 22),
  ])
  func `is parsed in all its forms`(text: String, seconds: Int64) { #expect(delay(text) == .seconds(seconds)) }

  @Test(arguments: [
    "", " ", "-1", "1.5", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Foo 1994 08:49:37 GMT",
    "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49 GMT", "١٢", ", , , , ,",
    "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
  ])
  func `is nil if it cannot be parsed`(text: String) { #expect(delay(text) == nil) }

  @Test func `is measured by the server's clock`() {
    #expect(delay("Sun, 06 Nov 1994 09:00:00 GMT", date: "Sun, 06 Nov 1994 08:59:30 GMT") == .seconds(30))
  }

  @Test(arguments: [-1, 0, 951_782_399, 951_782_400, 1_709_164_800, 4_102_444_799] as [Int64])
  func `knows its calendar`(seconds: Int64) {
    let time = UnixTime(seconds: max(0, seconds))
    let text = time.description
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let parts = text.split(whereSeparator: { "-T:Z".contains($0) }).compactMap { Int($0) }
    let date = "Xxx, \(parts[2]) \(months[parts[1] - 1]) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) GMT"
    #expect(UnixTime(httpDate: date) == time)
  }
}
