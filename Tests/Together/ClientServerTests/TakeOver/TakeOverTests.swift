#if Programs
import Foundation
import Handstamp
import HandstampRegistry
import HandstampSQLite
import HandstampServer
import HandstampSupport
import HandstampTesting
import HandstampTransports
import Logging
import Testing

/// The store that a population moves to.
enum NewHome: String, CaseIterable, Sendable {
  case memory, sqlite

  /// Each write to a file waits for the disk.
  var devices: Int {
    switch self {
    case .memory: 500
    case .sqlite: 100
    }
  }
}

/// The servers of one store, one after the other, and the former system beside them.
private final class Migration: Sendable {
  let former: FormerStub
  /// `nil` in memory.
  private let folder: ServerFolder?
  private let store: Locked<any RegistryStore>
  let mint: TokenMint
  let keys = SigningKeys()
  let time = Locked(UnixTime(seconds: 1_800_000_000))
  private let random: Locked<SplitMix64>
  /// The share of lost requests and responses, in percent.
  let lossRate = Locked<UInt64>(0)

  init(_ kind: FormerStub.Kind, to home: NewHome) async throws {
    let devices = home.devices
    former = FormerStub(kind, sessions: devices)
    switch home {
    case .memory:
      var source = SystemRandomNumberGenerator()
      mint = TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &source))
      (folder, store) = (nil, Locked(MemoryRegistryStore()))
    case .sqlite:
      var folder = ServerFolder(path: FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString)")
      // On a busy machine a lock may be held for longer than a server waits.
      folder.patience = .seconds(120)
      let opened = try folder.open()
      mint = TokenMint(opened.keys.master)
      (self.folder, store) = (folder, Locked(opened.store))
    }
    random = Locked(SplitMix64(state: 46))
    for number in 0..<devices {
      let account = AccountRecord(
        id: AccountID("user-\(number)"), email: EmailAddress("user-\(number)@example.org"), username: "User",
        passwordHash: nil, createdAt: UnixTime(seconds: 1_700_000_000))
      try await store.withLock({ $0 }).write([.createAccount(account)], events: [])
    }
    former.state.withLock { [self] in $0.losses = { self.loss() } }
  }

  deinit { if let folder { try? FileManager.default.removeItem(atPath: folder.path) } }

  var registry: Registry { Registry(store: store.withLock { $0 }, mint: mint) }

  /// Closes the files of a server that has stopped, and opens them for the next one.
  func reopen() throws {
    guard let folder, let former = store.withLock({ $0 }) as? SQLiteRegistryStore else { return }
    try former.close()
    let next = try folder.open().store
    store.withLock { $0 = next }
  }

  func draw(below limit: UInt64) -> UInt64 { random.withLock { $0.next() % limit } }

  func loss() -> FormerStub.Loss {
    let rate = lossRate.withLock { $0 }
    guard draw(below: 100) < rate else { return .none }
    return draw(below: 2) == 0 ? .request : .response
  }

  func server() async throws -> (SessionServer, RunningServer) {
    var configuration = ServerConfiguration(issuer: "https://id.example.org")
    configuration.limits = .none
    configuration.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    configuration.now = { [time] in time.withLock { $0 } }
    var system = FormerSystem()
    switch former.kind {
    case .toolkit:
      system.clientID = "app"
      system.clientSecret = Secret("s3cret")
      system.revocationURL = FormerStub.base + "/o/revoke_token/"
    case .goTrue: system.goTrueURL = FormerStub.base
    }
    configuration.former = system
    let server = try await SessionServer(
      configuration: configuration, registry: registry, keys: keys, transport: former)
    return (server, try await server.start())
  }
}

/// The acceptance test of the chapter about moving in.
@Suite(.timeLimit(.minutes(10))) struct `A population of devices at a former system` {
  /// Two times 500 devices, and 100 each with SQLite, over a day of 24 rounds: a device starts its app in about every third round, and
  /// is killed after a random number of steps. A tenth of requests and responses is lost, on both sides of the server, which restarts
  /// four times. The former system is down for five rounds.
  @Test(arguments: FormerStub.Kind.allCases, NewHome.allCases)
  @MainActor func `moves over a day of failures without a sign-out`(
    kind: FormerStub.Kind, home: NewHome
  ) async throws {
    let count = home.devices
    let migration = try await Migration(kind, to: home)
    if kind == .toolkit {
      let lines = (0..<count).map {
        Array(#"{"account":"user-\#($0)","token":"r-\#($0)-0","auth_time":1790000000}"#.utf8)
      }
      let result = try await Administration(migration.registry, by: .server()).importFormer(lines)
      #expect(result.imported == count)
    }
    let devices = (0..<count).map { MortalDevice($0) }
    let network = AsyncHTTPTransport(connectTimeout: .seconds(240))
    var (signOuts, strangers, kills) = (0, 0, 0)
    var (server, running) = try await migration.server()
    migration.lossRate.withLock { $0 = 10 }
    for hour in 0..<24 {
      if hour > 0, hour.isMultiple(of: 5) {
        try await running.stop()
        try migration.reopen()
        (server, running) = try await migration.server()
      }
      migration.former.state.withLock { $0.isDown = (8..<13).contains(hour) }
      let url = try #require(URL(string: running.url))
      let time = migration.time.withLock { $0 }
      for part in stride(from: 0, to: devices.count, by: 50) {
        await withTaskGroup(of: (MortalDevice.Outcome, Int, Bool).self) { group in
          for device in devices[part..<min(part + 50, devices.count)] where migration.draw(below: 3) == 0 {
            let life = Life(steps: Int(migration.draw(below: 16)) + 1)
            let uses = migration.draw(below: 2) == 0
            group.addTask {
              let outcome = await device.launch(
                at: url, over: network, life: life, losses: { migration.loss() }, at: time, uses: uses)
              return (outcome, device.number, life.isOver)
            }
          }
          for await (outcome, number, isOver) in group {
            if isOver { kills += 1 }
            switch outcome {
            case .signedOut: signOuts += 1
            case .signedIn(let account) where account != AccountID("user-\(number)"): strangers += 1
            case .signedIn, .unknown: break
            }
          }
        }
      }
      migration.time.withLock { $0 = $0.advanced(by: .seconds(3600)) }
    }
    // A launch without failures: the devices that have not moved do so now.
    migration.lossRate.withLock { $0 = 0 }
    let url = try #require(URL(string: running.url))
    let time = migration.time.withLock { $0 }
    for device in devices {
      let outcome = await device.launch(
        at: url, over: network, life: Life(steps: .max), losses: { .none }, at: time, uses: true)
      if outcome != .signedIn(AccountID("user-\(device.number)")) { signOuts += 1 }
      #expect(device.old.withLock { $0 } == nil, "\(outcome) \(String(describing: device.why.withLock { $0 }))")
    }
    // The jobs that wait for their next attempt, of which none fails any more.
    migration.time.withLock { $0 = $0.advanced(by: .seconds(7200)) }
    #expect(await eventually { migration.former.alive == 0 })
    #expect(signOuts == 0)
    #expect(strangers == 0)
    #expect(kills > count / 5)
    // Old tokens that work.
    #expect(migration.former.alive == 0)
    #expect(migration.former.state.withLock { $0.reuses } == 0)
    #expect(server.metrics.snapshot.formerLosses == 0)
    try await running.stop()
    await network.shutdown()
  }
}
#endif
