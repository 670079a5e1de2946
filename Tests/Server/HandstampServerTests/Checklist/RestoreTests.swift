#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import Testing

@testable import HandstampServer

/// The last section of docs/asvs.md: an operator restores yesterday's copy of the database.
@Suite(.timeLimit(.minutes(10))) struct `Yesterday's database` {
  @Test func `does not set the clock back: sessions that have expired since stay expired`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "handstamp-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let clock = TestClock()
    let limits = RegistryLimits(absoluteLimit: nil, idleLimit: .seconds(3 * 86_400))

    func run<Value>(_ body: (SessionServer) async throws -> Value) async throws -> Value {
      let (store, keys) = try ServerFolder(path: folder).open()
      defer { try? store.close() }
      let configuration = ServerConfiguration(issuer: "https://id.example.org") {
        $0.passwords.hashing = .forTests
        $0.now = { clock.now }
        $0.uptime = { clock.uptime }
      }
      let registry = Registry(store: store, mint: TokenMint(keys.master), limits: limits)
      return try await body(
        SessionServer(configuration: configuration, registry: registry, keys: SigningKeys()))
    }

    let database = folder + "/registry.sqlite"
    let session = try await run { server in
      let account = try await server.registry.openAccount(
        email: nil, username: "Ada", passwordHash: nil, now: server.now())
      let device = DeviceInfo(id: DeviceID("d"), name: "d", platform: "d")
      _ = try await server.checkClock()
      return try await server.registry.createSession(
        by: .password(of: account), SessionStart(device: device), now: server.now())
    }
    let copy = FileManager.default.contents(atPath: database)
    try await run { server in
      clock.advance(by: .seconds(5 * 86_400))
      await Sweeper(server: server).sweep()
      let events = try await server.registry.events(after: .zero)
      #expect(events.last?.event.reason == .idle)
    }
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + suffix) }
    #expect(FileManager.default.createFile(atPath: database, contents: copy))
    try await run { server in
      #expect(server.now() == clock.now)
      let outcome = try await server.registry.refresh(
        server.registry.mint.refreshToken(session.token), key: RotationKey.fresh.wireText, now: server.now())
      #expect(outcome == .ended(.idle))
    }
  }

  @Test func `keeps yesterday's sessions, and accepts no used-up token`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "handstamp-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let signing = SigningKeys()
    let clock = TestClock()

    func run<Value>(_ body: (WireClient) async throws -> Value) async throws -> Value {
      let (store, keys) = try ServerFolder(path: folder).open()
      defer { try? store.close() }
      let server = try await SessionServer(
        configuration: ServerConfiguration(issuer: "https://id.example.org") {
          $0.passwords.hashing = .forTests
          $0.now = { clock.now }
        },
        registry: Registry(store: store, mint: TokenMint(keys.master)), keys: signing)
      let running = try await server.start()
      do {
        let value = try await body(WireClient(base: running.url))
        try await running.stop()
        return value
      } catch {
        try await running.stop()
        throw error
      }
    }
    func refresh(_ token: String, _ client: WireClient) async throws -> WireClient.Answer {
      let key = RotationKey.fresh.wireText.withExposed { $0 }
      return try await client.post(
        "/oauth/token", form: "grant_type=refresh_token&refresh_token=\(token)&rotation_key=\(key)")
    }

    let session = try await run { client in
      try TestServer.Session(try await client.post("/v1/sign-up", json: TestServer.signUpBody("ada@example.org")))
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("registry.sqlite") }
    let copies = names.map { ($0, FileManager.default.contents(atPath: "\(folder)/\($0)")) }
    clock.advance(by: .seconds(86_400))
    let token = try await run { client in
      var token = session.refresh
      for _ in 0..<5 { token = try #require(try await refresh(token, client).json["refresh_token"]) }
      return token
    }
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasPrefix("registry.sqlite") {
      try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    }
    for (name, content) in copies {
      #expect(
        FileManager.default.createFile(
          atPath: "\(folder)/\(name)", contents: content, attributes: [.posixPermissions: 0o600]))
    }
    try await run { client in
      let answer = try await refresh(token, client)
      #expect(answer.status == 200)
      let next: String = try #require(answer.json["refresh_token"])
      #expect(try await refresh(next, client).status == 200)
      // The token that was current when the copy was made has been used since.
      let old = try await refresh(session.refresh, client)
      #expect(old.status == 400)
      #expect(old.json["error_code"] == "superseded")
    }
  }
}
#endif
