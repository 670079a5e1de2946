#if Programs
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSQLite
import Logging

/// The real server on a new database, configured like `handstamp-server serve`.
struct ServerUnderTest: Sendable {
  var url: String
  var registry: Registry
  var store: SQLiteRegistryStore

  /// Runs the server on loopback during `body`.
  static func run<Value>(
    in folder: String, hashing: Argon2Parameters = .forTests, clients: [ConfiguredClient] = [],
    _ body: (ServerUnderTest) async throws -> Value
  ) async throws -> Value {
    let (store, keys) = try ServerFolder(path: folder).open()
    var logger = Logger(label: "handstamp.bench")
    logger.logLevel = .error
    let registry = Registry(store: store, mint: TokenMint(keys.master))
    let server = try await SessionServer(
      configuration: ServerConfiguration {
        $0.clients = clients
        $0.passwords.hashing = hashing
        $0.limits = .none
        $0.logger = logger
      },
      registry: registry,
      keys: SigningKeys())
    let running = try await server.start()
    let result: Result<Value, any Error>
    do {
      result = .success(try await body(ServerUnderTest(url: running.url, registry: registry, store: store)))
    } catch {
      result = .failure(error)
    }
    try await running.stop()
    try store.close()
    return try result.get()
  }

  /// Creates `count` sessions of one account.
  func sessions(_ count: Int) async throws -> [NewSession] {
    let account = try await registry.openAccount(email: nil, username: "bench", passwordHash: nil, now: .current)
    var sessions: [NewSession] = []
    for number in 0..<count {
      let device = DeviceInfo(id: DeviceID("d\(number)"), name: "device \(number)", platform: "bench")
      sessions.append(
        try await registry.createSession(
          by: .password(of: account), SessionStart(device: device), now: .current))
    }
    return sessions
  }

  /// The first refresh token of a session.
  func token(of new: NewSession) -> RefreshToken { registry.mint.refreshToken(new.token) }
}
#endif
