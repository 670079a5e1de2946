#if Programs
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A server that is asked whether it works` {
  /// A disk that is full can still be read.
  @Test func `is ready only while its store can be written, and alive in any case`() async throws {
    let disk = FullDisk()
    let clock = TestClock()
    let registry = Registry(store: disk, mint: try FullDisk.mint())
    let server = try await SessionServer(
      configuration: ServerConfiguration {
        $0.now = { clock.now }
        $0.uptime = { clock.uptime }
      }, registry: registry,
      keys: SigningKeys())
    let running = try await server.start()
    let client = WireClient(base: running.url)
    #expect(try await client.get("/ready").status == 200)
    disk.isFull.withLock { $0 = true }
    #expect(try await client.get("/ready").status == 200, "the answer is kept for a moment")
    clock.advance(by: .seconds(2))
    let answer = try await client.get("/ready")
    #expect(answer.status == 503)
    #expect(answer.text.contains("unavailable"))
    #expect(try await client.get("/health").status == 200)
    disk.isFull.withLock { $0 = false }
    clock.advance(by: .seconds(2))
    #expect(try await client.get("/ready").status == 200)
    try await running.stop()
  }

  @Test func `is not ready once a request has met damage in its store`() async throws {
    let disk = FullDisk()
    let clock = TestClock()
    let logs = LogCapture()
    let server = try await SessionServer(
      configuration: ServerConfiguration {
        $0.logger = logs.logger
        $0.now = { clock.now }
        $0.uptime = { clock.uptime }
      },
      registry: Registry(store: disk, mint: try FullDisk.mint()), keys: SigningKeys())
    let running = try await server.start()
    let client = WireClient(base: running.url)
    #expect(try await client.get("/ready").status == 200)
    disk.found.withLock { $0 = "registry.db is damaged: database disk image is malformed" }
    for _ in 0..<2 {
      clock.advance(by: .seconds(2))
      #expect(try await client.get("/ready").status == 503)
    }
    try await running.stop()
    #expect(logs.lines.filter { $0.contains("is damaged") }.count == 1)
  }

  @Test func `writes once for many questions`() async throws {
    let disk = FullDisk()
    let server = try await SessionServer(
      configuration: ServerConfiguration(),
      registry: Registry(store: disk, mint: try FullDisk.mint()),
      keys: SigningKeys())
    let before = disk.writes.withLock { $0 }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 { group.addTask { _ = await server.lasting.readiness.response() } }
    }
    #expect(disk.writes.withLock { $0 } == before + 1)
  }
}

private final class FullDisk: StoreDecorator, Sendable {
  let base = MemoryRegistryStore()
  let isFull = Locked(false)
  let writes = Locked(0)
  let found = Locked<String?>(nil)
  var damage: String? { found.withLock { $0 } }

  static func mint() throws -> TokenMint {
    var random = SystemRandomNumberGenerator()
    return TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &random))
  }

  func willWrite() async throws(RegistryStoreError) {
    writes.withLock { $0 += 1 }
    if isFull.withLock({ $0 }) { throw .unavailable("database or disk is full") }
  }
}
#endif
