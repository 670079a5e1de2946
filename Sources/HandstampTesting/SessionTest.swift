public import Handstamp
import HandstampCore
import HandstampSupport
public import HandstampVaults

/// An app's session, with its environment under a test's control.
///
///     @Test func `a lost response does not sign the user out`() async throws {
///       let test = try SessionTest()
///       try await test.signIn("ada")
///       await test.server.loseNextAnswer()
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

  /// Starts a second program that shares the vault, such as an extension.
  public func secondProcess() -> SessionController {
    SessionController(backend: server, vault: vault, policy: policy, clock: clock)
  }
}
