#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport
import Hummingbird
import Logging

/// A wall clock and a monotonic clock that tests move.
final class TestClock: Sendable {
  private let time: Locked<(wall: UnixTime, uptime: Duration)>

  init(_ start: UnixTime = .current) { time = Locked((start, .seconds(1000))) }

  var now: UnixTime { time.withLock { $0.wall } }
  var uptime: Duration { time.withLock { $0.uptime } }

  /// Lets time pass.
  func advance(by duration: Duration) {
    time.withLock { $0 = ($0.wall.advanced(by: duration), $0.uptime + duration) }
  }

  /// Sets the wall clock; no time passes.
  func jump(by duration: Duration) { time.withLock { $0.wall = $0.wall.advanced(by: duration) } }
}

/// A real server on a free local port, with an in-memory store.
struct TestServer: Sendable {
  let server: SessionServer
  let client: WireClient
  let clock: TestClock
  let keys: SigningKeys
  let store: FaultyStore
  let mint: TokenMint
  let logs: LogCapture
  let running: RunningServer

  /// Runs `body` against a server of its own, then stops the server.
  static func run<Value>(
    limits: RegistryLimits = RegistryLimits(), clock: TestClock = TestClock(), store: FaultyStore = FaultyStore(),
    middlewares: [any MiddlewareProtocol<Request, Response, ServerContext>] = [], mailer: (any Mailer)? = nil,
    apple: AppleSignIn? = nil, transport: (any Transport)? = nil, keys: SigningKeys = SigningKeys(),
    _ configure: (inout ServerConfiguration) -> Void = { _ in },
    body: (TestServer) async throws -> Value
  ) async throws -> Value {
    let logs = LogCapture()
    var configuration = ServerConfiguration(issuer: "https://id.example.org")
    configuration.mail.jitter = .zero
    configuration.mail.notices = []
    configuration.passwords.hashing = .forTests
    configuration.limits = .none
    configuration.logger = logs.logger
    configuration.now = { clock.now }
    configuration.uptime = { clock.uptime }
    configuration.logsAudit = false
    // Longer than tests read: a connection that should be closed still fails them, and a starved client keeps its own.
    configuration.idleConnectionLimit = .seconds(600)
    configure(&configuration)
    var random = SystemRandomNumberGenerator()
    let mint = TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &random))
    let server = try await SessionServer(
      configuration: configuration, registry: Registry(store: store, mint: mint, limits: limits), keys: keys,
      mailer: mailer, apple: apple, transport: transport, middlewares: middlewares)
    let running = try await server.start()
    let test = TestServer(
      server: server, client: WireClient(base: running.url), clock: clock, keys: keys, store: store, mint: mint,
      logs: logs, running: running)
    do {
      let value = try await body(test)
      try await running.stop()
      return value
    } catch {
      try await running.stop()
      throw error
    }
  }

  var metrics: ServerMetrics.Snapshot { server.metrics.snapshot }

  /// The result of a sign-in, as a client keeps it.
  struct Session: Sendable {
    var id: String
    var access: String
    var refresh: String
    var handle: String
    var account: String
  }

  static let password = "correct horse battery"

  func signUp(_ email: String = "ada@example.org", device: String = "phone") async throws -> Session {
    let answer = try await client.post("/v1/sign-up", json: Self.signUpBody(email, device: device))
    return try Session(answer)
  }

  func signIn(_ email: String = "ada@example.org", device: String = "laptop") async throws -> Session {
    let answer = try await client.post("/v1/sign-in", json: Self.signInBody(email, device: device))
    return try Session(answer)
  }

  /// The stored account; `nil` if there is none.
  func account(_ email: String = "ada@example.org") async throws -> AccountRecord? {
    guard let email = EmailAddress(email) else { return nil }
    return try await server.registry.account(email: email)
  }

  static func signUpBody(_ email: String, password: String = password, device: String = "phone") -> String {
    #"{"email":"\#(email)","password":"\#(password)","username":"Ada","device":{"id":"d-\#(device)","name":"\#(device)","platform":"iOS"}}"#
  }

  static func confirmBody(_ code: String, password: String = password, device: String = "phone") -> String {
    #"{"token":"\#(code)","password":"\#(password)",\#(deviceBody(device))}"#
  }

  static func signInBody(_ email: String, password: String = password, device: String = "laptop") -> String {
    #"{"email":"\#(email)","password":"\#(password)","device":{"id":"d-\#(device)","name":"\#(device)","platform":"Linux"}}"#
  }

  func refresh(_ token: String, key: RotationKey?) async throws -> WireClient.Answer {
    let key = key.map { "&rotation_key=" + $0.wireText.withExposed { $0 } } ?? ""
    return try await client.post("/oauth/token", form: "grant_type=refresh_token&refresh_token=\(token)\(key)")
  }
}

extension TestServer.Session {
  struct Incomplete: Error { var status: Int }

  init(_ answer: WireClient.Answer) throws {
    let json = answer.json
    guard let id: String = json["session_id"], let access: String = json["access_token"],
      let refresh: String = json["refresh_token"], let handle: String = json["revocation_handle"],
      let account: String = json[object: "profile"]["id"] ?? answer.claims("access_token")["sub"]
    else { throw Incomplete(status: answer.status) }
    self.init(id: id, access: access, refresh: refresh, handle: handle, account: account)
  }
}

extension RotationKey {
  static var fresh: RotationKey {
    var random = SystemRandomNumberGenerator()
    return RotationKey(from: &random)
  }
}
#endif
