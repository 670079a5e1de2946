#if Programs
import Foundation
import Handstamp
import HandstampOAuth
import HandstampSupport
import HandstampTesting
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// Sessions of a device code at a server process of ours, which is killed and restarted under them, over a network that loses, breaks,
/// doubles and repeats late.
private final class Crowd: Sendable {
  struct Sums: Sendable {
    var sessions = 0
    var refreshes = 0
    var late = 0
    var deaths = 0
    var kills = 0
    var stops = 0
    var lost: [String] = []
  }

  private let url: String
  private let process: ServerProcess
  private let next: Locked<Range<Int>>
  private let sums = Locked(Sums())
  /// Set once the server accepts connections; replaced when it is about to end.
  private let isUp = Locked(OneShot<Void>())
  private let typing = Turn()
  private let moments: AsyncStream<Void>
  private let moment: AsyncStream<Void>.Continuation

  private init(url: String, process: ServerProcess, sessions: Int) {
    (self.url, self.process) = (url, process)
    next = Locked(0..<sessions)
    (moments, moment) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  static func run(sessions: Int, workers: Int) async throws -> Sums {
    let folder = NSTemporaryDirectory() + "handstamp-crowd-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder + "/logs", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let clients = #"[{"id": "app", "name": "An app", "flows": ["device_code"], "scopes": ["profile"]}]"#
    try Data(clients.utf8).write(to: URL(fileURLWithPath: folder + "/clients.json"))
    let port = try await OwnServer.freePort()
    let process = ServerProcess(
      folder: folder + "/server", logs: folder + "/logs", port: port, clients: folder + "/clients.json")
    defer { process.abandon() }
    let crowd = Crowd(url: "http://127.0.0.1:\(port)", process: process, sessions: sessions)
    try await crowd.start()
    // An error of either ends both: `waitForAll` alone would wait for the other.
    try await withThrowingTaskGroup { group in
      group.addTask { try await crowd.disturb(at: crowd.moments) }
      group.addTask {
        defer { crowd.moment.finish() }
        try await withThrowingTaskGroup { group in
          for number in 0..<workers { group.addTask { try await crowd.work(number) } }
          for try await _ in group {}
        }
      }
      for try await _ in group {}
    }
    try await process.stop()
    return crowd.sums.withLock { $0 }
  }

  private func start() async throws {
    _ = try await process.start(accessTokenLife: "10m")
    isUp.withLock { $0 }.set(())
  }

  /// Ends the server in the middle of its work, again and again: with SIGKILL and, every fourth time, as an operator does.
  private func disturb(at moments: AsyncStream<Void>) async throws {
    var ended = 0
    for await _ in moments {
      ended += 1
      isUp.withLock { $0 = OneShot() }
      if ended % 4 == 0 { try await process.stop() } else { try await process.kill() }
      sums.withLock { [ended] sums in if ended % 4 == 0 { sums.stops += 1 } else { sums.kills += 1 } }
      try await start()
    }
  }

  /// Counts a refresh request. After some of them the server is ended.
  private func countRefresh() {
    let count = sums.withLock { sums in
      sums.refreshes += 1
      return sums.refreshes
    }
    if count % 100 == 0 { moment.yield() }
  }

  /// Begins and renews sessions until there are enough. No account has as many as ends the oldest one.
  private func work(_ worker: Int) async throws {
    var person: WebPerson?
    var count = 0
    while let number = next.withLock({ $0.popFirst() }) {
      if person == nil || count % 50 == 0 {
        let email = "ada-\(worker)-\(count)@example.org"
        try await insist { [url] in
          do { try await OwnServer.signUp(email, at: url) } catch SessionError.refused("email_taken", _) {
            // An attempt before this one succeeded, and its response was lost.
          }
        }
        person = WebPerson(email: email)
      }
      count += 1
      guard let person else { return }
      let device = Device(crowd: self, number: number, person: person)
      do {
        try await device.live()
        sums.withLock { $0.sessions += 1 }
      } catch {
        sums.withLock { $0.lost.append("\(number): \(error)") }
      }
    }
  }

  /// Repeats what a person does until the server is there. Passwords are typed one after another: a server that hashes too many at once
  /// refuses some.
  private func insist(_ action: () async throws -> Void) async throws {
    for attempt in 1... {
      try await isUp.withLock { $0 }.value()
      do { return try await typing.during(action) } catch { if attempt == 10 { throw error } }
    }
  }

  /// The turn of one person at a time.
  private final class Turn: Sendable {
    private let last = Locked<OneShot<Void>?>(nil)

    func during(_ action: () async throws -> Void) async throws {
      let own = OneShot<Void>()
      let previous = last.withLock { last in
        defer { last = own }
        return last
      }
      defer { own.set(()) }
      try await previous?.value()
      try await action()
    }
  }

  /// One installation of the app.
  private final class Device: Transport {
    private let crowd: Crowd
    private let person: WebPerson
    private let vault = MemoryVault()
    private let clock = LaterClock()
    private let random: Locked<SplitMix64>
    /// Refreshes that a proxy still has.
    private let held = Locked<[TransportRequest]>([])
    private let network: LossyTransport

    private struct Lost: Error, CustomStringConvertible { var description: String }

    init(crowd: Crowd, number: Int, person: WebPerson) {
      (self.crowd, self.person) = (crowd, person)
      random = Locked(SplitMix64(state: UInt64(number)))
      network = LossyTransport(
        AsyncHTTPTransport.shared, seed: UInt64(number),
        odds: .init(requestLost: 0.05, responseLost: 0.1, doubled: 0.1))
    }

    @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
      do { try await crowd.isUp.withLock { $0 }.value() } catch { throw .cancelled }
      let isRefresh = String(decoding: request.body, as: UTF8.self).contains("grant_type=refresh_token")
      if isRefresh {
        held.withLock { $0.append(request) }
        crowd.countRefresh()
        if happens(1, of: 10) { network.expect(.connectionBroken) }
      }
      return try await network.send(request)
    }

    @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
      try await network.open(request)
    }

    /// Signs in, and gets a token at each of three expiries.
    func live() async throws {
      let (shown, show) = AsyncStream.makeStream(of: DeviceCode.self)
      let backend = OAuthBackend(
        OAuthClient(issuer: crowd.url, id: "app", scopes: ["profile"]), transport: self,
        time: OAuthTime(now: { UnixTime(seconds: 0) }) { [self] pause in try await allow(shown, or: pause) })
      var controller = controller(backend, attempts: 8)
      try await insist(in: controller) {
        try await controller.signIn { () async throws(SessionError) in
          try await backend.signInOnAnotherDevice {
            show.yield($0)
            isAllowed.withLock { $0 = false }
          }
        }
      }
      guard case .signedIn(let facts) = controller.state else { throw Lost(description: "no session") }
      for _ in 0..<3 {
        clock.advance(by: .seconds(601))
        if happens(1, of: 4) { await die(backend) }
        controller = self.controller(backend, attempts: 8)
        try await insist(in: controller) { _ = try await controller.token() }
        await repeatLate()
      }
      guard case .signedIn(let now) = controller.state, now.id == facts.id else {
        throw Lost(description: "another session: \(controller.state)")
      }
      let token = try await controller.token()
      let header = HeaderField("Authorization", token.secret.withExposed { "Bearer " + $0 })
      try await crowd.insist { [url = crowd.url] in
        let answer = try await AsyncHTTPTransport.shared.send(
          TransportRequest(method: "GET", url: url + "/v1/me", headers: [header]))
        guard answer.status == 200 else { throw Lost(description: "/v1/me: \(answer.status)") }
      }
    }

    private let isAllowed = Locked(false)

    /// The user types the code while the device waits for the first time. Later it waits as the server demands, whose interval is 5 s,
    /// and not the minute that lost responses would make of it.
    private func allow(_ shown: AsyncStream<DeviceCode>, or pause: Duration) async throws {
      guard !isAllowed.withLock({ $0 }) else { return try await OAuthTime.system.sleep(min(pause, .seconds(10))) }
      for await code in shown {
        var refusals = 0
        try await crowd.insist { [person] in
          do { try await person.allow(code.userCode, at: code.address) } catch {
            // The page of a code that was allowed when the server died says that there is no such code.
            if error is WebPerson.Lost { refusals += 1 }
            guard refusals > 3 else { throw error }
          }
        }
        break
      }
      isAllowed.withLock { $0 = true }
    }

    private func controller(_ backend: OAuthBackend, attempts: Int) -> SessionController {
      SessionController(
        backend: backend, vault: vault,
        policy: SessionPolicy(
          refresh: RefreshPolicy(usesTimer: false), retry: RetryPolicy(attempts: attempts, base: .zero)), clock: clock)
    }

    /// The app is ended between the server's commit and its own.
    private func die(_ backend: OAuthBackend) async {
      let dying = controller(backend, attempts: 1)
      network.expect(happens(1, of: 2) ? .connectionBroken : .responseLost)
      _ = try? await dying.refreshIfNeeded()
      // The limit of an attempt whose sender may still live.
      clock.advance(by: .seconds(61))
      crowd.sums.withLock { $0.deaths += 1 }
    }

    /// A proxy sends a request that was answered long ago once more.
    private func repeatLate() async {
      guard happens(1, of: 4), let request = held.withLock({ $0.randomElement() }) else { return }
      crowd.sums.withLock { $0.late += 1 }
      _ = try? await AsyncHTTPTransport.shared.send(request)
    }

    /// Repeats what the user wants as long as the session is not lost.
    private func insist(in controller: SessionController, _ action: () async throws -> Void) async throws {
      for attempt in 1... {
        do { return try await action() } catch {
          guard attempt < 20, case SessionError.requestFailed = error else {
            throw Lost(description: "\(error), \(controller.state)")
          }
        }
      }
    }

    private func happens(_ count: Int, of all: Int) -> Bool {
      random.withLock { Int.random(in: 0..<all, using: &$0) < count }
    }
  }
}

/// At our own server.
@Suite(.timeLimit(.minutes(10))) struct `Sessions of a device code` {
  @Test func `outlast kills, restarts, lost responses and late duplicates`() async throws {
    try await Crowd.expectNothingLost(of: 64, workers: 16)
  }
}

/// Runs in `make check-deep`.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["HANDSTAMP_DEEP"] != nil), .timeLimit(.minutes(60)))
struct `Ten thousand sessions of a device code` {
  @Test func `outlast kills, restarts, lost responses and late duplicates`() async throws {
    try await Crowd.expectNothingLost(of: 10_000, workers: 256)
  }
}

extension Crowd {
  fileprivate static func expectNothingLost(of sessions: Int, workers: Int) async throws {
    let sums = try await run(sessions: sessions, workers: workers)
    #expect(sums.lost.isEmpty, "\(sums.lost.prefix(20).joined(separator: "\n"))")
    #expect(sums.sessions == sessions)
    #expect(sums.kills > 0 && sums.late > 0 && sums.deaths > 0)
    print(
      "\(sums.sessions) sessions, \(sums.refreshes) refresh requests, \(sums.late) late duplicates, \(sums.deaths) clients "
        + "and \(sums.kills) servers killed, \(sums.stops) stopped: \(sums.lost.count) lost")
  }
}
#endif
