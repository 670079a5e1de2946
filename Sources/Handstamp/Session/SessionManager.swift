public import Foundation
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

  @ObservationIgnored private let load: @Sendable (APIClient) async throws -> Content
  @ObservationIgnored private var version: UInt64 = 0
  @ObservationIgnored private var session: SessionID?
  @ObservationIgnored private var loading: Task<Void, Never>?
  @ObservationIgnored private var watching: Task<Void, Never>?
  @ObservationIgnored private var versionWaiters: [(version: UInt64, continuation: CheckedContinuation<Void, Never>)] =
    []
  @ObservationIgnored private var commands = 0

  /// Begins to restore the session at once.
  ///
  /// - Parameter load: brings what the app needs after sign-in (`me`, `appConfig`). It runs apart from the session: neither
  ///   its slowness nor its failure delays or ends anything.
  public init(
    backend: any Backend, vault: any Vault, baseURL: URL, transport: any Transport = URLSessionTransport(),
    policy: SessionPolicy = SessionPolicy(), clock: any SessionClock = SystemClock(), audit: (any AuditLog)? = nil,
    load: @escaping @Sendable (APIClient) async throws -> Content
  ) {
    controller = SessionController(vault: vault, backend: backend, policy: policy, clock: clock, audit: audit)
    api = APIClient(baseURL: baseURL, controller: controller, transport: transport)
    self.load = load
    let states = controller.hub.subscribe()
    watching = Task { [weak self] in
      for await state in states {
        guard let self else { return }
        self.show(state)
      }
    }
  }

  isolated deinit {
    watching?.cancel()
    loading?.cancel()
    for waiter in versionWaiters { waiter.continuation.resume() }
  }

  /// Who is signed in.
  public var currentUser: Profile? { snapshot.session.value ?? nil }
  public var isAuthenticated: Bool { currentUser != nil }
  public var isAnonymous: Bool { currentUser?.isAnonymous ?? false }

  /// Signs in with whatever `perform` returns. When it returns, ``snapshot`` shows the new session.
  public func signIn(_ perform: () async throws -> Grant) async throws(SessionError) {
    begin()
    do throws(SessionError) {
      try await controller.signIn(perform)
      await end()
    } catch {
      await end()
      throw error
    }
  }

  /// Signs out; see ``SessionController/signOut(reason:)``. When it returns, ``snapshot`` shows that nobody is signed in.
  @discardableResult
  public func signOut() async -> SignOutReport {
    begin()
    let report = await controller.signOut()
    await end()
    return report
  }

  /// Loads the content again.
  public func refreshContent() {
    guard session != nil else { return }
    startLoading()
  }

  private func begin() {
    commands += 1
    snapshot.isWorking = true
  }

  /// Waits until the snapshot shows at least what the controller had published by now.
  private func end() async {
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
