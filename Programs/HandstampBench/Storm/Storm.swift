#if Programs && os(Linux)
import Foundation
import HandstampCore
import HandstampPostgres
import HandstampRegistry
import HandstampServer
import HandstampSQLite
import HandstampSupport

/// The first tries of very many sessions after an outage, while the server is killed and started again: how soon each has new tokens, and
/// what it costs the server. Server and load have a core each.
struct Storm {
  var sessions: Int
  /// The program `handstamp-server`.
  var server: String
  /// The address of a PostgreSQL database; `nil` for SQLite.
  var database: String?
  private let spread = 10.0
  /// Whether the clients have no rotation keys.
  var isStrict = false
  /// Where the picture goes, if anywhere.
  var picture: String?
  private static let processes = 8

  @concurrent func run(in folder: String) async throws {
    let begun = try await begin(in: folder)
    let server = try StormServer(server, in: folder, try flags(beside: folder))
    try server.start()
    defer { server.kill() }
    // After its first work of its own.
    try await Task.sleep(for: .seconds(3))
    let idle = server.memory()
    let clients = try (0..<Storm.processes).map { number in
      let mine = stride(from: number, to: begun.count, by: Storm.processes).map { begun[$0] }
      return try StormProcess(
        StormClients.Orders(
          port: server.port, number: number + 2, spread: spread, isStrict: isStrict, sessions: mine))
    }
    for each in clients { try each.awaitReady() }
    let probes = [
      ("where clients are", HealthProbe(port: server.port)),
      ("beside the metrics", HealthProbe(address: 0x7f00_000a, port: StormServer.metricsPort)),
    ]
    let (start, before) = (Uptime.now + .milliseconds(500), server.seconds)
    for each in clients { try each.begin(at: start) }
    for (_, probe) in probes { probe.start(every: .milliseconds(20)) }
    Progress.say("storm")
    try await Task.sleep(for: .seconds(0.5 + spread / 2))
    server.kill()
    let killed = Uptime.now - start
    try server.start()
    let back = Uptime.now - start
    var result = StormResult()
    for each in clients { result.add(try each.result()) }
    let health = probes.map { ($0, $1.end()) }
    let cost = server.seconds - before
    let peak = server.peak
    try await Task.sleep(for: .seconds(2))
    tell(result, health)
    let each = cost / Double(sessions) * 1e6
    say("killed at \(killed.inSeconds.figure) s, listening again at \(back.inSeconds.figure) s")
    say("processor time, s: server \(cost.figure), \(each.figure) µs a session; load \(result.processorTime.figure)")
    say(
      "memory, MB: idle \(idle.figure), peak \(peak.figure), \((peak / idle).figure) ×; then \(server.memory().figure)")
    // A server that serves no token twice ends the sessions whose response it could not send, and no others.
    let isRight = result.sessions.map { $0.end == nil ? $0.served != nil : isStrict && $0.repeats > 0 }
    guard !isRight.contains(false) else { throw BenchError("sessions were lost") }
    if let picture { try StormPicture(result: result, outage: killed.inSeconds...back.inSeconds).write(to: picture) }
  }

  private func flags(beside folder: String) throws -> [String] {
    let database = database.map { ["--database", $0] } ?? []
    guard isStrict else { return database }
    let path = folder + ".clients.json"
    let client = #""id":"storm","flows":["authorization_code"],"redirectURIs":["https://127.0.0.1/"]"#
    let text = #"[{\#(client),"refreshOverlap":0}]"#
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return database + ["--clients", path]
  }

  // MARK: Before

  /// Begins the sessions, by the server's own registry.
  private func begin(in folder: String) async throws -> [StormClients.Orders.Begun] {
    Progress.say("\(sessions) sessions")
    if let database {
      let (store, keys) = try await PostgresDatabase(try PostgresAddress(database), folder: folder).open()
      defer { store.release() }
      return try await begin(TokenMint(keys.master), store)
    }
    let (store, keys) = try ServerFolder(path: folder).open()
    defer { store.release() }
    return try await begin(TokenMint(keys.master), store)
  }

  private func begin(_ mint: TokenMint, _ store: some RegistryStore) async throws -> [StormClients.Orders.Begun] {
    let registry = Registry(store: store, mint: mint)
    let numbers = Locked(0)
    return try await withThrowingTaskGroup(of: [StormClients.Orders.Begun].self) { group in
      for _ in 0..<64 {
        group.addTask {
          var mine: [StormClients.Orders.Begun] = []
          while true {
            let number = numbers.withLock { number in
              number += 1
              return number
            }
            guard number <= sessions else { return mine }
            mine.append(try await begin(number, in: registry, store))
          }
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
  }

  private func begin(
    _ number: Int, in registry: Registry, _ store: some RegistryStore
  ) async throws -> StormClients.Orders.Begun {
    let account = try await registry.openAccount(email: nil, username: "", passwordHash: nil, now: .current)
    let device = DeviceInfo(id: DeviceID("d\(number)"), name: "phone", platform: "iOS")
    var random = SystemRandomNumberGenerator()
    var claims: RefreshClaims
    if isStrict {
      let row = SessionRow(
        session: SessionBytes(from: &random), account: account.id, device: device, kind: .plain,
        client: SessionClient(id: "storm", scope: ""), createdAt: .current)
      try await store.write([.createSession(row)], events: [])
      claims = RefreshClaims(session: row.session, counter: 0, mark: .zero)
    } else {
      let start = SessionStart(device: device)
      claims = try await registry.createSession(by: .password(of: account), start, now: .current).token
      // The first use of a session costs another write, and is long past.
      let key = RotationKey(from: &random).wireText
      let refreshed = try await registry.refresh(registry.mint.refreshToken(claims), key: key, now: .current)
      guard case .issued(let issue) = refreshed else { throw BenchError("a session cannot be refreshed") }
      claims = issue.token
    }
    let token = registry.mint.refreshToken(claims).secret.withExposed { $0 }
    return StormClients.Orders.Begun(id: claims.session.id.rawValue, account: account.id.rawValue, token: token)
  }

  // MARK: After

  private func tell(_ result: StormResult, _ health: [(String, (times: [Double], failed: Int))]) {
    let waits = result.sessions.compactMap { session in
      session.served.flatMap { served in session.first.map { served - $0 } }
    }
    let (requests, repeats) = (result.sessions.map(\.requests), result.sessions.map(\.repeats))
    let ends = Dictionary(grouping: result.sessions.compactMap(\.end)) { $0 }.mapValues(\.count)
    let share = Double(requests.reduce(0, +)) / Double(sessions)
    let firsts = range(result.sessions.compactMap(\.first))
    say(
      "\(sessions) sessions, \(isStrict ? "without" : "with") rotation keys; \(Machine.build) build, load \(Machine.load)"
    )
    say("first tries from \(firsts) s, at most \(result.lateness.figure) s later than planned")
    say("served \(waits.count), signed out \(ends.values.reduce(0, +)) \(ends)")
    say("seconds from the first try: \(spreads(of: waits)); beyond 60: \(waits.count { $0 > 60 })")
    say("requests a session: \(share.figure), at most \(requests.max() ?? 0)")
    say("tokens presented again: \(repeats.reduce(0, +)), in \(repeats.count { $0 > 0 }) sessions")
    say("callers with an error: \(result.failedCallers)")
    say("Retry-After obeyed \(result.obeyed) times, not \(result.hasty) times")
    for (place, (times, failed)) in health {
      say("/health \(place), ms: \(spreads(of: times)); \(times.count) answers, \(failed) without")
    }
    for (kind, counts) in result.counts.sorted(by: { $0.key < $1.key }) {
      say("\(kind): \(counts.reduce(0, +)): \(counts.prefix(60).map(String.init).joined(separator: " "))")
    }
  }

  private func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}

private func range(_ values: [Double]) -> String {
  "\((values.min() ?? 0).figure) to \((values.max() ?? 0).figure)"
}

private func spreads(of values: [Double]) -> String {
  let (median, high, longest) = (values.percentile(50), values.percentile(99), values.max() ?? 0)
  return "median \(median.figure), p99 \(high.figure), longest \(longest.figure)"
}

extension Duration {
  fileprivate var inSeconds: Double { self / .seconds(1) }
}

/// A process with a part of the sessions: one process may not open as many files as there are sessions.
private final class StormProcess {
  private let process = Process()
  private let (input, output) = (Pipe(), Pipe())

  init(_ orders: StormClients.Orders) throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
    process.arguments = ["-c", "1", "/proc/self/exe", "--storm-part"]
    process.arguments?[2] = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: try JSONEncoder().encode(orders) + Data("\n".utf8))
  }

  func awaitReady() throws {
    guard output.fileHandleForReading.availableData.starts(with: Data("ready".utf8)) else {
      throw BenchError("a process of the storm ended")
    }
  }

  func begin(at time: Duration) throws {
    try input.fileHandleForWriting.write(contentsOf: Data("\(Int64(time / .nanoseconds(1)))\n".utf8))
  }

  func result() throws -> StormResult {
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    return try JSONDecoder().decode(StormResult.self, from: data)
  }
}
#endif
