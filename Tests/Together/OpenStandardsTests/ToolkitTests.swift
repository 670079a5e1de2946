#if Programs
import Foundation
import Handstamp
import HandstampRegistry
import HandstampServer
import HandstampSupport
import HandstampTesting
import HandstampTransports
import Logging
import Testing

/// Devices with sessions of a real django-oauth-toolkit, whose users move to our server.
@Suite(.timeLimit(.minutes(10))) struct `Sessions of django-oauth-toolkit` {
  private static let devices = 40

  /// The first half is imported as a table; the others are refreshed there.
  @Test @MainActor func `move to our server, and end there`() async throws {
    let toolkit = try Program("toolkit.py", ["\(Self.devices)"])
    defer { toolkit.close() }
    var lines = toolkit.lines.makeAsyncIterator()
    let first = await lines.next()
    let base = try #require(first, "are scripts/deps installed?")
    let store = MemoryRegistryStore()
    for number in 0..<Self.devices {
      let account = AccountRecord(
        id: AccountID("user-\(number)"), email: EmailAddress("user-\(number)@example.org"), username: "User",
        passwordHash: nil, createdAt: .current)
      try await store.write([.createAccount(account)], events: [])
    }
    var source = SystemRandomNumberGenerator()
    let registry = Registry(store: store, mint: TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &source)))
    toolkit.say("tokens")
    var table: [[UInt8]] = []
    while let line = await lines.next(), !line.isEmpty { table.append(Array(line.utf8)) }
    #expect(table.count == Self.devices)
    let result = try await Administration(registry, by: .server()).importFormer(Array(table.prefix(Self.devices / 2)))
    #expect(result.imported == Self.devices / 2)

    var configuration = ServerConfiguration(issuer: "https://id.example.org")
    configuration.limits = .none
    configuration.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    var system = FormerSystem()
    system.tokenURL = base + "/o/token/"
    system.introspectionURL = base + "/o/introspect/"
    system.revocationURL = base + "/o/revoke_token/"
    system.subject = "username"
    system.clientID = "app"
    system.clientSecret = Secret("s3cret")
    configuration.former = system
    let server = try await SessionServer(
      configuration: configuration, registry: registry, keys: SigningKeys(), transport: AsyncHTTPTransport.shared)
    let running = try await server.start()
    let url = try #require(URL(string: running.url))
    for number in 0..<Self.devices {
      let network = LossyTransport(AsyncHTTPTransport.shared, seed: UInt64(number))
      // The response to every third device is lost.
      if number.isMultiple(of: 3) { network.expect(.responseLost) }
      let old = Locked<String?>("r-\(number)")
      let clock = ManualClock(SystemClock().now())
      let pump = Task { [clock] in
        while !Task.isCancelled {
          await clock.sleepers(1)
          clock.advance(by: .seconds(5))
        }
      }
      let session = SessionManager(
        backend: ServerBackend(
          baseURL: url, device: .init(id: DeviceID("device-\(number)"), name: "phone"), transport: network),
        vault: MemoryVault(), baseURL: url, transport: network,
        policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false)), clock: clock)
      let isSignedIn = try await session.adopt(
        from: { old.withLock { $0.map { Secret($0) } } }, removing: { old.withLock { $0 = nil } })
      #expect(isSignedIn)
      #expect(session.currentUser?.id == AccountID("user-\(number)"))
      #expect(old.withLock { $0 } == nil)
      pump.cancel()
    }
    #expect(server.metrics.snapshot.formerSessions == Self.devices)
    var alive: String?
    repeat {
      toolkit.say("alive")
      alive = await lines.next()
    } while alive != nil && alive != "0"
    #expect(alive == "0")
    try await running.stop()
  }
}
#endif
