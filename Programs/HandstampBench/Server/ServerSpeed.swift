#if Programs
import AsyncHTTPClient
import HandstampRegistry
import HandstampSQLite

/// Measures refreshes per second of the real server, and of their parts: a signature, a request, a durable commit.
///
/// The bound is the rate of a server that does only these three, one after the other: 1 / Σ (1 / rate). All four are measured
/// in turns, so that other load on the machine affects all of them.
struct ServerSpeed {
  let folder: String
  private let widths = [1, 8, 32, 128]
  private let turns = 5
  private let stretch: Duration = .milliseconds(400)

  @concurrent func measure(into report: inout Report) async throws {
    try await ServerUnderTest.run(in: folder) { server in
      let settings = try await server.store.settings()
      guard settings.synchronous == 2 else { throw BenchError("commits are not durable") }
      report.notes.append(
        "server: SQLite with journal \(settings.journal) and synchronous \(settings.synchronous) (FULL), client and"
          + " server in one process, each connection rotates its own session; bound = 1 / Σ (1 / rate)")
      try await HelloLane.serve { hello in
        let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: clientConfiguration)
        let result: Result<Void, any Error>
        do { result = .success(try await measure(server, hello, client, into: &report)) } catch {
          result = .failure(error)
        }
        try await client.shutdown()
        try result.get()
      }
    }
  }

  /// Allows one connection per lane, which stays open between turns.
  private var clientConfiguration: HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = widths.max() ?? 1
    return configuration
  }

  private func measure(
    _ server: ServerUnderTest, _ hello: String, _ client: HTTPClient, into report: inout Report
  ) async throws {
    let most = widths.max() ?? 1
    // Half of the sessions are refreshed over HTTP, the other half written directly, so that they do not conflict.
    let sessions = try await server.sessions(2 * most)
    var refreshes = Lanes(
      sessions.prefix(most).map {
        RefreshLane(client: client, url: server.url + "/oauth/token", token: server.token(of: $0))
      })
    var commits = Lanes(sessions.suffix(most).map { CommitLane(store: server.store, row: $0.row) })
    var hellos = Lanes((0..<most).map { _ in HelloLane(client: client, url: hello) })
    var exchanges = Lanes((0..<most).map { _ in ExchangeLane(client: client, url: hello) })
    var signatures = Lanes((0..<most).map { _ in SigningLane() })
    for width in widths {
      Progress.say("server, \(width.connections)")
      var parts = (refresh: Turns(), signing: Turns(), hello: Turns(), exchange: Turns(), commit: Turns())
      for turn in 0...turns {
        // The first turn opens the connections and fills the caches.
        let counts = turn > 0
        parts.refresh.add(try await refreshes.work(width, for: stretch), counts)
        parts.signing.add(try await signatures.work(width, for: stretch / 2), counts)
        parts.hello.add(try await hellos.work(width, for: stretch / 2), counts)
        parts.exchange.add(try await exchanges.work(width, for: stretch / 2), counts)
        parts.commit.add(try await commits.work(width, for: stretch / 2), counts)
      }
      let bound = 1 / [parts.signing, parts.hello, parts.commit].map { 1 / $0.rate }.reduce(0, +)
      let group = "server, \(width.connections)"
      report.add(
        group, "refresh", parts.refresh.rate, "/s", target: .atLeast(bound / 2),
        note: "\((parts.refresh.rate / bound * 100).figure) % of the bound \(bound.figure);"
          + " \(parts.refresh.cost.figure) µs of CPU time each; median of \(turns) turns")
      report.add(group, "ES256 signature only", parts.signing.rate, "/s", note: parts.signing.note)
      report.add(group, "hello-world HTTP only", parts.hello.rate, "/s", note: parts.hello.note)
      report.add(
        group, "HTTP of a refresh's size only", parts.exchange.rate, "/s",
        note: parts.exchange.note + ", not in the bound")
      report.add(group, "durable commit only", parts.commit.rate, "/s", note: parts.commit.note)
    }
  }
}

/// The turns of one kind of work.
private struct Turns {
  private var rates: [Double] = []
  private var costs: [Double] = []

  mutating func add<Kind>(_ outcome: Lanes<Kind>.Outcome, _ counts: Bool) {
    guard counts else { return }
    rates.append(outcome.rate)
    costs.append(outcome.cost)
  }

  var rate: Double { rates.median }
  var cost: Double { costs.median }
  var note: String { "\(cost.figure) µs of CPU time each" }
}

extension Int {
  fileprivate var connections: String { self == 1 ? "1 connection" : "\(self) connections" }
}
#endif
