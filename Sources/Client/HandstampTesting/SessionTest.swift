public import Foundation
public import Handstamp
import HandstampSupport

/// An app's session, with its environment under a test's control.
///
///     @Test func `a lost response does not sign the user out`() async throws {
///       let test = try SessionTest()
///       try await test.signIn("ada")
///       await test.server.loseNextResponse()
///       test.clock.advance(by: .seconds(3600))
///       _ = try await test.relaunch().token()
///     }
public final class SessionTest: Sendable {
  public let clock: ManualClock
  public let server: TestServer
  /// Outlives every relaunch, as a real vault does.
  public let vault: MemoryVault
  private let policy: SessionPolicy
  private let current: Locked<SessionController>

  /// - Parameter policy: By default without timers, and with immediate retries, so that the test controls the clock.
  public init(
    policy: SessionPolicy = SessionPolicy(
      refresh: RefreshPolicy(usesTimer: false), retry: RetryPolicy(base: .zero))
  ) throws {
    clock = ManualClock()
    server = try TestServer(clock: clock)
    vault = MemoryVault()
    self.policy = policy
    current = Locked(SessionController(backend: server, vault: vault, policy: policy, clock: clock))
  }

  /// The session of the running program.
  public var session: SessionController { current.withLock { $0 } }

  /// Signs in `name` on the test server.
  @discardableResult
  public func signIn(_ name: String) async throws -> SignedIn {
    let server = server
    return try await session.signIn { try await server.signIn(name) }
  }

  /// Returns a token of the running program.
  public func token() async throws -> AccessToken { try await session.token() }

  /// Restarts the program: memory is lost, the vault remains.
  @discardableResult
  public func relaunch() -> SessionController {
    let new = SessionController(backend: server, vault: vault, policy: policy, clock: clock)
    current.withLock { $0 = new }
    return new
  }

  /// Returns the session of an app as its views and models take it, with the test's server, vault and clock. It is signed in if
  /// ``signIn(_:)`` was called before; a sign-in of its own is `manager.signIn { try await test.server.signIn("ada") }`.
  ///
  /// ```swift
  /// let test = try SessionTest()
  /// try await test.signIn("ada")
  /// let session = await test.manager(transport: ScriptedTransport(["GET /v1/me": #"{"name":"Ada"}"#])) { api in
  ///   try await api.get("/v1/me", as: Me.self)
  /// }
  /// ```
  /// - Parameters:
  ///   - baseURL: The URL of the app's API; `nil` (the default) for one of the test.
  ///   - transport: The app's API. Default: a server that answers everything with 404.
  ///   - apiOptions: By default without retries, which would wait for the test's clock.
  ///   - load: The app's own.
  @MainActor public func manager<Content: Sendable>(
    baseURL: URL? = nil, transport: any Transport = ScriptedTransport(),
    apiOptions: APIClient.Options = APIClient.Options(retryPolicy: RetryPolicy(attempts: 1)),
    load: @escaping @Sendable (APIClient) async throws -> Content
  ) async -> SessionManager<Content> {
    let manager = SessionManager(
      backend: server, vault: vault, baseURL: baseURL ?? SessionTest.baseURL, transport: transport, policy: policy,
      clock: clock, apiOptions: apiOptions, load: load)
    await manager.restoreSession()
    return manager
  }

  private static var baseURL: URL { URL(string: "https://api.example.org") ?? URL(fileURLWithPath: "/") }

  /// Starts a second program that shares the vault, such as an extension.
  public func secondProcess() -> SessionController {
    SessionController(backend: server, vault: vault, policy: policy, clock: clock)
  }
}
