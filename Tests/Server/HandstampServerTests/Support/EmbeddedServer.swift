#if Programs
import HandstampCore
import HandstampRegistry
import HandstampServer
import Hummingbird
import NIOCore
import ServiceLifecycle

/// An app with accounts and routes of its own, which serves sessions below `/auth`.
struct EmbeddedServer: Sendable {
  let users: Users
  let server: SessionServer
  let client: WireClient
  let store: FaultyStore
  let logs: LogCapture
  private let group: ServiceGroup

  /// Runs `body` against an app of its own, then stops the app as a signal would.
  ///
  /// - Parameter onItsListener: whether the session server's listener serves the app, or Hummingbird's.
  static func run<Value>(
    onItsListener: Bool = false, _ configure: (inout ServerConfiguration) -> Void = { _ in },
    body: (EmbeddedServer) async throws -> Value
  ) async throws -> Value {
    let logs = LogCapture()
    var configuration = ServerConfiguration(issuer: "https://app.example.org/auth")
    configuration.mountPath = "/auth"
    configuration.heartbeat = .milliseconds(100)
    configuration.logger = logs.logger
    configure(&configuration)
    var random = SystemRandomNumberGenerator()
    let (users, store) = (Users(), FaultyStore())
    let registry = Registry(store: store, mint: TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &random)))
    let server = try await SessionServer(
      configuration: configuration, registry: registry, keys: SigningKeys(), accounts: users)

    let router = Router(context: ServerContext.self)
    router.get("/") { _, _ in "hello" }
    server.addRoutes(to: router)
    let notes = server.protected(router.group("/notes"))
    notes.get { _, context in "\(context.session.account) \(context.session.id)" }
    notes.get("/stream") { _, _ in
      Response(
        status: .ok, headers: [.contentType: "text/event-stream"],
        body: ResponseBody { writer in
          try await writer.write(ByteBuffer(string: ": open\n"))
          for await _ in AsyncStream(Void.self, { _ in }) {}
        })
    }
    notes.get("/teapot") { _, _ -> String in throw HTTPError(.init(code: 418)) }

    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    let onReady: @Sendable (Int) -> Void = {
      continuation.yield($0)
      continuation.finish()
    }
    let app: any Service =
      onItsListener
      ? OwnListener(server: server, responder: router.buildResponder(), onReady: onReady)
      : Application(
        router: router, server: .sturdyHTTP1(), configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        services: server.services, onServerRunning: { onReady($0.localAddress?.port ?? 0) }, logger: logs.logger)
    let group = ServiceGroup(configuration: .init(services: [app], logger: logs.logger))
    let running = Task { try await group.run() }
    guard let port = await ports.first(where: { _ in true }) else { throw CancellationError() }
    let embedded = EmbeddedServer(
      users: users, server: server, client: WireClient(base: "http://127.0.0.1:\(port)"), store: store, logs: logs,
      group: group)
    do {
      let value = try await body(embedded)
      await group.triggerGracefulShutdown()
      try await running.value
      return value
    } catch {
      await group.triggerGracefulShutdown()
      try? await running.value
      throw error
    }
  }

  func shutDown() async { await group.triggerGracefulShutdown() }

  func signUp(_ email: String = "ada@example.org", device: String = "phone") async throws -> TestServer.Session {
    try TestServer.Session(
      await client.post("/auth/v1/sign-up", json: TestServer.signUpBody(email, device: device)))
  }

  func signIn(password: String = TestServer.password) async throws -> WireClient.Answer {
    try await client.post("/auth/v1/sign-in", json: TestServer.signInBody("ada@example.org", password: password))
  }
}

/// An app on the listener of its session server.
private struct OwnListener: Service {
  let server: SessionServer
  let responder: RouterResponder<ServerContext>
  let onReady: @Sendable (Int) -> Void

  func run() async throws { try await server.run(responder, on: [.host("127.0.0.1", port: 0)], onReady: onReady) }
}

/// A user table.
actor Users: AccountDirectory {
  private var users: [String: (account: DirectoryAccount, password: Secret)] = [:]
  private var isDown = false
  /// Called between the look-up of an address and the verification of its password.
  private var interruption: (@Sendable () async -> Void)?
  private(set) var verified: [DirectoryAccount?] = []

  func fail() { isDown = true }
  func interrupt(_ work: @escaping @Sendable () async -> Void) { interruption = work }
  func setPassword(_ password: String, of email: String) { users[email]?.password = Secret(password) }
  func rename(_ email: String, to name: String) {
    guard let user = users[email] else { return }
    users[email]?.account = DirectoryAccount(id: user.account.id, username: name)
  }

  func account(email: EmailAddress) throws(AccountDirectoryError) -> DirectoryAccount? {
    guard !isDown else { throw .unavailable("the user table is locked") }
    return users[email.normalized]?.account
  }

  func verify(_ password: Secret, of account: DirectoryAccount?) async throws(AccountDirectoryError) -> Bool {
    verified.append(account)
    let fits = account.map { account in users.values.contains { $0.account.id == account.id && $0.password == password }
    }
    await interruption?()
    return fits ?? false
  }

  func create(
    email: EmailAddress, username: String, password: Secret
  ) throws(AccountDirectoryError) -> DirectoryAccount {
    guard users[email.normalized] == nil else { throw .emailTaken }
    let account = DirectoryAccount(id: AccountID("user-\(users.count + 1)"), username: username)
    users[email.normalized] = (account, password)
    return account
  }
}
#endif
