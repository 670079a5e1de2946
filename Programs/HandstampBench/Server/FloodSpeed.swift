#if Programs
import AsyncHTTPClient
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport
import NIOCore
import NIOHTTP1

/// Measures the effect of a flood of wrong passwords on other requests: the 99th percentile of response times, with and
/// without the flood.
///
/// A hundred clients sign in with a wrong password continuously; one that is answered 503 waits for roughly `Retry-After`.
/// They do not start at the same instant: the cost of a hundred simultaneous requests is another question.
struct FloodSpeed {
  let folder: String
  private let attackers = 100
  private let turns = 3
  private let stretch: Duration = .seconds(2)

  @concurrent func measure(into report: inout Report) async throws {
    try await ServerUnderTest.run(in: folder, hashing: .recommended) { server in
      var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = attackers + 1
      let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
      let result: Result<Void, any Error>
      do { result = .success(try await measure(server, client, into: &report)) } catch { result = .failure(error) }
      try await client.shutdown()
      try result.get()
    }
  }

  private func measure(_ server: ServerUnderTest, _ client: HTTPClient, into report: inout Report) async throws {
    guard let session = try await server.sessions(1).first else { throw BenchError("no session") }
    var health = HealthLane(client: client, url: server.url + "/health")
    var refresh = RefreshLane(client: client, url: server.url + "/oauth/token", token: server.token(of: session))
    var times = (health: (quiet: [Double](), flood: [Double]()), refresh: (quiet: [Double](), flood: [Double]()))
    let refused = Locked((passwords: 0, busy: 0))
    for turn in 0...turns {
      // The first turn opens the connections and fills the caches.
      let counts = turn > 0
      Progress.say("flood, turn \(turn) of \(turns)")
      times.health.quiet += try await milliseconds(of: &health, counts)
      times.refresh.quiet += try await milliseconds(of: &refresh, counts)
      let flood = Task {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<attackers {
            group.addTask { try await attack(number, server.url, client, refused) }
          }
          try await group.waitForAll()
        }
      }
      while refused.withLock({ $0.busy == 0 }) { try await Task.sleep(for: .milliseconds(10)) }
      // Wait until all of them have started.
      try await Task.sleep(for: .seconds(1))
      times.health.flood += try await milliseconds(of: &health, counts)
      times.refresh.flood += try await milliseconds(of: &refresh, counts)
      flood.cancel()
      _ = await flood.result
    }
    let count = refused.withLock { $0 }
    for (name, times) in [("GET /health", times.health), ("refresh", times.refresh)] {
      let (quiet, flood) = (times.quiet.percentile(99), times.flood.percentile(99))
      report.add(
        "a flood of wrong passwords", "\(name), 99th percentile", flood / quiet, "× quiet", target: .atMost(3),
        note: "\(flood.figure) ms, without flood \(quiet.figure) ms; medians \(times.flood.percentile(50).figure) and"
          + " \(times.quiet.percentile(50).figure) ms")
    }
    report.notes.append(
      "flood: \(attackers) clients, \(count.passwords) wrong passwords, \(count.busy) answered 503; client and server in one"
        + " process")
  }

  private func milliseconds(of lane: inout some Lane, _ counts: Bool) async throws -> [Double] {
    var times: [Double] = []
    let end = ContinuousClock.now + stretch
    while ContinuousClock.now < end {
      let start = ContinuousClock.now
      try await lane.step()
      times.append((ContinuousClock.now - start) / .milliseconds(1))
    }
    return counts ? times : []
  }

  private func attack(
    _ number: Int, _ url: String, _ client: HTTPClient, _ refused: Locked<(passwords: Int, busy: Int)>
  ) async throws {
    try await Task.sleep(for: .milliseconds(number * 10))
    while !Task.isCancelled {
      var request = HTTPClientRequest(url: url + "/v1/sign-in")
      request.method = .POST
      request.headers.add(name: "content-type", value: "application/json")
      let body = """
        {"email":"a\(number)@example.org","password":"wrong","device":{"id":"d","name":"d","platform":"d"}}
        """
      request.body = .bytes(ByteBuffer(string: body))
      let response = try await client.execute(request, timeout: .seconds(60))
      _ = try await response.body.collect(upTo: 1 << 16)
      switch response.status {
      case .unauthorized: refused.withLock { $0.passwords += 1 }
      case .serviceUnavailable:
        refused.withLock { $0.busy += 1 }
        let seconds = response.headers.first(name: "retry-after").flatMap { Int($0) } ?? 1
        try await Task.sleep(for: .seconds(seconds) * Double.random(in: 0.75...1.25))
      default: throw BenchError("a sign-in returned \(response.status.code)")
      }
    }
  }
}

/// A health check of the server.
private struct HealthLane: Lane {
  let client: HTTPClient
  let url: String

  mutating func step() async throws {
    let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(20))
    _ = try await response.body.collect(upTo: 1 << 16)
    guard response.status == .ok else { throw BenchError("/health returned \(response.status.code)") }
  }
}

extension [Double] {
  /// Returns the value that this percentage of the values does not exceed.
  func percentile(_ percent: Int) -> Double {
    let sorted = sorted()
    return sorted.isEmpty ? .nan : sorted[Swift.min(sorted.count - 1, sorted.count * percent / 100)]
  }
}
#endif
