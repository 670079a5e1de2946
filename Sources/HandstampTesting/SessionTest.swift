public import Handstamp
import HandstampCore
public import HandstampVaults

/// An app's session, with everything around it under a test's control.
///
///     @Test func `a lost answer signs nobody out`() async throws {
///       let test = try SessionTest()
///       try await test.signIn("ada")
///       await test.server.loseNextAnswer()
///       test.clock.advance(by: .seconds(3600))
///       _ = try await test.relaunch().token()
///     }
public final class SessionTest: Sendable {
  public let clock: ManualClock
  public let server: TestServer
  /// Outlives every relaunch, as a real one does.
  public let vault: MemoryVault
  private let policy: SessionPolicy
  private let current: Locked<SessionController>

  /// - Parameter policy: By default without timers, and with retries that come at once: the test moves the clock.
  public init(
    policy: SessionPolicy = SessionPolicy(
      refresh: RefreshPolicy(aheadOfExpiry: false), retry: RetryPolicy(base: .zero))
  ) throws {
    clock = ManualClock()
    server = try TestServer(clock: clock)
    vault = MemoryVault()
    self.policy = policy
    current = Locked(SessionController(vault: vault, backend: server, policy: policy, clock: clock))
  }

  /// The running program's session.
  public var session: SessionController { current.withLock { $0 } }

  /// Signs `name` in on the test server.
  @discardableResult
  public func signIn(_ name: String) async throws -> SignedIn {
    let server = server
    return try await session.signIn { try await server.signIn(name) }
  }

  /// A token of the running program.
  public func token() async throws -> AccessToken { try await session.token() }

  /// Starts the program anew: memory is gone, the vault is there.
  @discardableResult
  public func relaunch() -> SessionController {
    let new = SessionController(vault: vault, backend: server, policy: policy, clock: clock)
    current.withLock { $0 = new }
    return new
  }

  /// A second program that shares the vault, such as an extension.
  public func secondProcess() -> SessionController {
    SessionController(vault: vault, backend: server, policy: policy, clock: clock)
  }
}
