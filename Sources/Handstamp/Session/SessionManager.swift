public import Foundation
public import HandstampCore
public import Observation

/// Shows one account's session to a user interface.
///
/// Everything a view reads comes from one ``Snapshot`` that is replaced as a whole, in a turn of the main actor of its own:
/// no view sees half a change, and none is told of one from inside its own update.
@MainActor @Observable
public final class SessionManager<Content: Sendable> {
  /// What is known at one instant.
  public struct Snapshot: Sendable {
    /// Who is signed in; `success(nil)` when nobody is. A vault that is locked or broken is a `failure`, never nobody.
    public var session: Loadable<Profile?> = .notInitiated
    /// What the app loads after sign-in.
    public var content: Loadable<Content> = .notInitiated
    /// How the last session ended, while nobody is signed in.
    public var endReason: EndReason?
    /// Whether a sign-in or a sign-out is under way. It always ends.
    public var isWorking = false
  }

  public private(set) var snapshot = Snapshot()
  /// The actor behind it: tokens, the synchronous header, the stream of states.
  public nonisolated let controller: SessionController
  /// Typed calls with the session's token.
  public nonisolated let api: APIClient

  @ObservationIgnored let backend: any Backend
  @ObservationIgnored private let load: @Sendable (APIClient) async throws -> Content
  @ObservationIgnored private var version: UInt64 = 0
  @ObservationIgnored private var session: SessionID?
  @ObservationIgnored private var loading: Task<Void, Never>?
  @ObservationIgnored private var watching: Task<Void, Never>?
  @ObservationIgnored private var versionWaiters: [(version: UInt64, continuation: CheckedContinuation<Void, Never>)] =
    []
  @ObservationIgnored private var restoreWaiters: [CheckedContinuation<Void, Never>] = []
  @ObservationIgnored private var commands = 0

  /// Begins to restore the session at once.
  ///
  /// - Parameters:
  ///   - presence: stands in front of the tokens; nothing: they are handed out to any caller.
  ///   - cleanups: what the app clears away when a session ends, in this order.
  ///   - load: brings what the app needs after sign-in (`me`, `appConfig`). It runs apart from the session: neither its
  ///     slowness nor its failure delays or ends anything.
  public init(
    backend: any Backend, vault: any Vault, baseURL: URL, transport: any Transport = URLSessionTransport(),
    policy: SessionPolicy = SessionPolicy(), clock: any SessionClock = SystemClock(), audit: (any AuditLog)? = nil,
    presence: PresenceLock? = nil, cleanups: [CleanupStep] = [],
    load: @escaping @Sendable (APIClient) async throws -> Content
  ) {
    controller = SessionController(
      vault: vault, backend: backend, policy: policy, clock: clock, audit: audit, presence: presence,
      cleanups: cleanups)
    api = APIClient(baseURL: baseURL, controller: controller, transport: transport)
    self.backend = backend
    self.load = load
    let states = controller.hub.subscribe()
    watching = Task { [weak self] in
      for await state in states {
        guard let self else { return }
        self.show(state)
      }
    }
  }

  deinit {
    watching?.cancel()
    loading?.cancel()
    for waiter in versionWaiters { waiter.continuation.resume() }
    for waiter in restoreWaiters { waiter.resume() }
  }

  /// Who is signed in.
  public var currentUser: Profile? { snapshot.session.value ?? nil }
  public var isAuthenticated: Bool { currentUser != nil }
  public var isAnonymous: Bool { currentUser?.isAnonymous ?? false }

  /// Every change of the session, for any number of observers; each starts with the current state.
  public nonisolated var states: SessionStates { controller.states }

  /// Signs in with whatever `perform` returns. When it returns, ``snapshot`` shows the new session.
  ///
  /// - Parameter remember: without it the session lives in memory and ends with the program.
  public func signIn(remember: Bool = true, _ perform: () async throws -> Grant) async throws(SessionError) {
    _ = try await working { () async throws(SessionError) in
      try await controller.signIn(remember: remember, perform)
    }
  }

  /// Takes over tokens that were obtained elsewhere.
  public func adopt(_ grant: Grant, remember: Bool = true) async throws(SessionError) {
    try await signIn(remember: remember) { grant }
  }

  /// Signs out; see ``SessionController/signOut(_:reason:)``. When it returns, ``snapshot`` shows that nobody is signed in.
  @discardableResult
  public func signOut(_ plan: SignOutPlan = .standard, reason: EndReason = .signedOut) async -> SignOutReport {
    begin()
    let report = await controller.signOut(plan, reason: reason)
    await end()
    return report
  }

  /// Signs out and removes everything of the account from this device.
  @discardableResult
  public func signOutAndErase() async -> SignOutReport { await signOut(.everything) }

  /// Returns when it is known whether somebody is signed in, also without a network. That the vault cannot be used is a
  /// `failure`, which is looked at anew here, whenever a token is asked for, and when the vault is unlocked.
  @discardableResult
  public func restoreSession() async -> Loadable<Profile?> {
    if case .failure = snapshot.session { await controller.nudge() }
    if isRestoring { await withCheckedContinuation { restoreWaiters.append($0) } }
    return snapshot.session
  }

  private var isRestoring: Bool {
    switch snapshot.session {
    case .notInitiated, .loading: true
    case .success, .failure: false
    }
  }

  /// Shows that something is under way, until it is not: it always ends.
  func working<Result>(_ body: () async throws(SessionError) -> Result) async throws(SessionError) -> Result {
    begin()
    do throws(SessionError) {
      let result = try await body()
      await end()
      return result
    } catch {
      await end()
      throw error
    }
  }

  /// Loads the content again.
  public func refreshContent() {
    guard session != nil else { return }
    startLoading()
  }

  func begin() {
    commands += 1
    snapshot.isWorking = true
  }

  /// Waits until the snapshot shows at least what the controller had published by now.
  func end() async {
    let wanted = controller.hub.current.version
    if version < wanted {
      await withCheckedContinuation { versionWaiters.append((wanted, $0)) }
    }
    commands -= 1
    snapshot.isWorking = commands > 0
  }

  private func show(_ state: Versioned) {
    var new = snapshot
    var loads = false
    new.endReason = nil
    switch state.state {
    case .restoring: new.session = .loading
    case .signedIn(let facts):
      new.session = .success(facts.profile)
      loads = session != facts.session
      session = facts.session
      if loads { new.content = .loading }
    case .signedOut(let reason):
      new.session = .success(nil)
      new.endReason = reason
      forget(&new)
    case .unavailable(let error):
      new.session = .failure(error)
      forget(&new)
    }
    snapshot = new
    if loads { startLoading() }
    version = state.version
    for waiter in versionWaiters where waiter.version <= version { waiter.continuation.resume() }
    versionWaiters.removeAll { $0.version <= version }
    if !isRestoring {
      for waiter in restoreWaiters { waiter.resume() }
      restoreWaiters = []
    }
  }

  private func forget(_ new: inout Snapshot) {
    session = nil
    loading?.cancel()
    loading = nil
    new.content = .notInitiated
  }

  /// A task of its own, whose result counts only while the same session is shown.
  private func startLoading() {
    loading?.cancel()
    let wanted = session
    loading = Task { [weak self, api, load] in
      let result: Loadable<Content>
      do { result = .success(try await load(api)) } catch { result = .failure(SessionError(loading: error)) }
      guard !Task.isCancelled, let self, self.session == wanted else { return }
      self.snapshot.content = result
    }
  }
}

extension SessionError {
  fileprivate init(loading error: any Error) {
    switch error {
    case let error as SessionError: self = error
    case APIError.unauthorized(let error): self = error
    case APIError.unreachable(let error): self = SessionError(error)
    case APIError.status(let status, let problem):
      self = .refused(code: problem?.code ?? "status_\(status)", detail: problem?.title)
    case is CancellationError: self = .cancelled
    default: self = .invalidAnswer(String(describing: type(of: error)))
    }
  }
}
