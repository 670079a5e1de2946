public import Foundation
@_exported public import HandstampCore
import HandstampSupport
public import Logging
public import Observation

/// One account's session, observable by a user interface: the type that an app's views name.
///
/// `SessionManager<Content>` loads the app's content after each sign-in; one without `load` is a `SessionManager<Void>`. Its account
/// functions, such as ``signIn(email:password:code:by:remember:)``, throw ``SessionError/unsupported(_:)`` if ``backend`` is no
/// ``AccountBackend``: an app at another server signs in with ``signIn(remember:_:)``.
///
/// All observable properties come from one ``Snapshot`` that is replaced as a whole, in a separate turn of the main actor: no
/// view sees half a change, or is notified of one during its own update.
@MainActor @Observable
public final class SessionManager<Content: Sendable> {
  /// The session at one instant.
  public struct Snapshot: Sendable {
    /// The session; `success(nil)` if signed out. A locked or damaged vault is a `failure`, never signed out.
    public var session: Loadable<SignedIn?> = .notInitiated
    /// The content that the app loads after sign-in.
    public var content: Loadable<Content> = .notInitiated
    /// Why the last session ended, while signed out; `nil` otherwise, and if none is known to have ended.
    public var endReason: EndReason?
    /// Whether a call to this manager (sign-in, sign-out, an account function) is in progress. It always ends.
    public var isWorking = false

    package var state: SessionState {
      switch session {
      case .notInitiated, .loading: .restoring
      case .success(nil): .signedOut(endReason)
      case .success(let facts?): .signedIn(facts)
      case .failure(let error): .unavailable(error)
      }
    }
  }

  /// The current snapshot.
  public private(set) var snapshot = Snapshot()
  /// The underlying actor: tokens, the synchronous header, the stream of states.
  public nonisolated let controller: SessionController
  /// The API client, which calls with the session's credential.
  public nonisolated let api: APIClient

  /// The backend that the session was created with.
  public nonisolated let backend: any Backend
  /// Whose data the usual clean-up steps clear.
  nonisolated let clearing: (@Sendable (EndedSession) -> AccountID?)?
  /// Takes over what a guest has, before the guest's session ends because the user signs in to an account that exists. Called by every
  /// sign-in during a guest's session. The guest's session stays in the vault, and in use, until it has returned; if the program ends
  /// before, the guest is still there. If it throws, so does the sign-in, with ``SessionError/contentFailed(_:)``, and the guest stays.
  /// `nil` (the default): the guest's session ends without it.
  @ObservationIgnored public var mergeGuest: (@Sendable (GuestMerge) async throws -> Void)?
  @ObservationIgnored private let load: @Sendable (APIClient) async throws -> Content
  @ObservationIgnored private var version: UInt64 = 0
  @ObservationIgnored private var session: SessionID?
  @ObservationIgnored private var loading: Task<Void, Never>?
  @ObservationIgnored private var watching: Task<Void, Never>?
  @ObservationIgnored private var versionWaiters: [(version: UInt64, continuation: CheckedContinuation<Void, Never>)] =
    []
  @ObservationIgnored private var restoreWaiters: [CheckedContinuation<Void, Never>] = []
  @ObservationIgnored private var commands = 0
  @ObservationIgnored package lazy var push = PushDelivery(of: controller, at: backend)

  /// Creates a session and begins to restore it at once.
  ///
  /// - Parameters:
  ///   - backend: the server that issues the tokens. It sends its requests over a transport of its own.
  ///   - vault: the storage of the secrets; it may be shared with other processes.
  ///   - earlier: where an earlier version of the program kept the session, and other URLs of the server. Default: none.
  ///   - baseURL: the URL of the app's API, for ``api``, which sends the credential only to its origin. It may be another
  ///     server's than the backend's.
  ///   - transport: sends the requests of ``api``, not those of `backend`. Default: `URLSession`.
  ///   - policy: when to refresh, how to retry, when the session ends on its own.
  ///   - clock: the device's clocks; tests pass their own.
  ///   - audit: records the session's events, in order, such as ``FileAuditLog``; `nil` (the default) for none.
  ///   - presence: the lock that guards the tokens; `nil` (the default) makes them available to any caller.
  ///   - cleanups: the steps that erase the app's data when a session ends, beside those that every session has, see ``SignOutPlan``.
  ///   - logger: gets one line for every decision of the session; `nil` (the default) for none. No line contains a secret.
  ///   - apiOptions: coders, headers and retries of ``api``.
  ///   - load: loads the app's content (`me`, `appConfig`) after each sign-in and each restore, once; ``refreshContent()``
  ///     repeats it. It runs independently of the session: a slow or failing load neither delays nor ends the session. Its
  ///     errors become a ``SessionError``: that of an ``APIError/session(_:)``, ``SessionError/requestFailed(_:retryAfter:)``
  ///     without a usable response, ``SessionError/invalidResponse(_:)`` for one that cannot be decoded, and
  ///     ``SessionError/contentFailed(_:)`` for any other, with its type's name. Default: loads nothing, a
  ///     `SessionManager<Void>`.
  public convenience init(
    backend: any Backend, vault: any Vault, earlier: [EarlierPlace] = [], baseURL: URL,
    transport: any Transport = URLSessionTransport(),
    policy: SessionPolicy = SessionPolicy(), clock: any SessionClock = SystemClock(), audit: (any AuditLog)? = nil,
    presence: PresenceLock? = nil, cleanups: [CleanupStep] = [], logger: Logger? = nil,
    apiOptions: APIClient.Options = APIClient.Options(),
    load: @escaping @Sendable (APIClient) async throws -> Content = { (_: APIClient) in }
  ) {
    self.init(
      backend: backend, vault: vault, earlier: earlier, baseURL: baseURL, transport: transport, policy: policy,
      clock: clock, audit: audit, presence: presence, clearing: { $0.account }, cleanups: cleanups, logger: logger,
      apiOptions: apiOptions, load: load)
  }

  /// - Parameter account: Whose data the usual steps clear; `nil` for a program that has none of it.
  package init(
    backend: any Backend, vault: any Vault, earlier: [EarlierPlace], baseURL: URL, transport: any Transport,
    policy: SessionPolicy, clock: any SessionClock, audit: (any AuditLog)?, presence: PresenceLock?,
    clearing account: (@Sendable (EndedSession) -> AccountID?)?, cleanups: [CleanupStep], logger: Logger?,
    apiOptions: APIClient.Options, load: @escaping @Sendable (APIClient) async throws -> Content
  ) {
    let host = baseURL.host?.lowercased()
    let usual = account.map { UsualCleanup(host: host, account: $0).steps } ?? []
    controller = SessionController(
      backend: backend, vault: vault, earlier: earlier, policy: policy, clock: clock, audit: audit,
      presence: presence, cleanups: cleanups + usual, sharing: account == nil ? nil : host, logger: logger)
    api = APIClient(baseURL: baseURL, controller: controller, transport: transport, options: apiOptions)
    self.backend = backend
    clearing = account
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

  /// The state of the session, at the instant of ``snapshot``. ``states`` yields every one.
  public var state: SessionState { snapshot.state }

  /// The signed-in user; `nil` if signed out, or if the server did not name the user.
  public var currentUser: Profile? { signedIn?.profile }
  /// Whether a session is in use. `false` does not mean signed out: it is also `false` while the session is being restored, and
  /// while the vault is locked or cannot be used. ``state`` tells them apart.
  public var isAuthenticated: Bool { signedIn != nil }
  /// Whether the session belongs to a guest account.
  public var isAnonymous: Bool { currentUser?.isAnonymous ?? false }

  private var signedIn: SignedIn? { snapshot.session.value ?? nil }

  /// Every state of the session, for any number of observers; each starts with the current one.
  public nonisolated var states: SessionStates { controller.states }

  /// Signs in with the tokens that `perform` returns. When this returns, ``snapshot`` shows the new session.
  ///
  /// A closure that calls a server itself must first take its turn, right before the request that begins the session: two
  /// sign-ins at once could leave one session at the server and the other in the vault. The sign-ins of this package's backends
  /// take the turn themselves. See ``SignInTurn``.
  ///
  /// ```swift
  /// try await session.signIn {
  ///   try await SignInTurn.take(by: .password, as: email)
  ///   return try await myServer.signIn(email, password)
  /// }
  /// ```
  /// A session in use ends with ``EndReason/replaced`` once `perform` has returned, and is revoked at the server, if it has a
  /// handle. If the new session is another account's, the clean-up steps of ``SignOutPlan/expiry`` run before it begins:
  /// preferences, downloads and database of the previous account stay on the device, so keep them in a folder per account. See
  /// ``SessionController/signIn(remember:_:)``.
  ///
  /// - Parameters:
  ///   - remember: `false` keeps the session out of the vault, see ``SessionController/signIn(remember:_:)``. Default `true`.
  ///   - perform: obtains the tokens.
  /// - Throws: the error of `perform`, unchanged, except that a cancellation is ``SessionError/cancelled``; otherwise a
  ///   ``SessionError``, as ``SessionController/signIn(remember:_:)`` does.
  public func signIn(remember: Bool = true, _ perform: () async throws -> TokenResponse) async throws {
    begin()
    do {
      _ = try await controller.signIn(remember: remember) { try await merged(try await perform()) }
      await end()
    } catch {
      await end()
      throw error
    }
  }

  func signIn(
    by claim: SignInClaim, _ remember: Bool, _ perform: () async throws(SessionError) -> TokenResponse
  ) async throws(SessionError) {
    _ = try await working { () async throws(SessionError) in
      try await controller.signedIn(by: claim, remember: remember) { () async throws(SessionError) in
        try await merged(try await perform())
      }
    }
  }

  /// Returns the tokens of a sign-in, once the app has taken over what a guest in use has.
  private func merged(_ tokens: TokenResponse) async throws(SessionError) -> TokenResponse {
    guard let mergeGuest, case .signedIn(let guest) = controller.state, guest.profile?.isAnonymous == true,
      let account = tokens.profile, account.id != guest.profile?.id, let token = tokens.tokens.access
    else { return tokens }
    do {
      try await mergeGuest(GuestMerge(guest: guest, account: account, token: token))
      return tokens
    } catch {
      // The session that has begun is in nobody's hands.
      if let handle = tokens.revocation { _ = await Task { [backend] in await backend.revoke(handle) }.value }
      throw SessionError(loading: error)
    }
  }

  /// Signs out; see ``SessionController/signOut(_:reason:)``. When this returns, ``snapshot`` shows the signed-out state.
  @discardableResult
  public func signOut(_ plan: SignOutPlan = .standard, reason: EndReason = .signedOut) async -> SignOutReport {
    begin()
    let report = await controller.signOut(plan, reason: reason)
    await end()
    return report
  }

  /// Waits until the vault has been read, which the initializer began; needs no network.
  ///
  /// If the vault could not be used, this begins another read and returns the previous `failure` without waiting for it:
  /// ``snapshot`` shows the result. The vault is also read again whenever a token is requested, when it reports a change, as
  /// one with a passphrase does when it is unlocked, and by ``retryPendingWork()``, which
  /// ``SessionLifeCycle`` calls when the device is unlocked and when the app enters the foreground.
  ///
  /// - Returns: `success` with the session; `success(nil)` if signed out; `failure` if the vault cannot be used. Never
  ///   `notInitiated` or `loading`.
  @discardableResult
  public func restoreSession() async -> Loadable<SignedIn?> {
    if case .failure = snapshot.session { await controller.retryPendingWork() }
    if isRestoring { await withCheckedContinuation { restoreWaiters.append($0) } }
    return snapshot.session
  }

  private var isRestoring: Bool {
    switch snapshot.session {
    case .notInitiated, .loading: true
    case .success, .failure: false
    }
  }

  /// Shows `isWorking` until `body` ends, which it always does.
  func working<Result>(_ body: () async throws(SessionError) -> Result) async throws(SessionError) -> Result {
    begin()
    let previous = controller.state
    do throws(SessionError) {
      let result = try await body()
      await end()
      return result
    } catch {
      if case .sessionEnded(let reason) = error, case .signedIn(let facts) = previous {
        await controller.endHere(facts.id, reason: reason)
      }
      await end()
      throw error
    }
  }

  /// Begins to load the content again, in place of a load in progress. ``Snapshot/content`` keeps its value until the new one,
  /// or its error, replaces it. No effect unless a session is in use.
  public func refreshContent() {
    guard session != nil else { return }
    startLoading()
  }

  func begin() {
    commands += 1
    snapshot.isWorking = true
  }

  /// Waits until the snapshot shows at least the latest state that the controller has published.
  func end() async {
    let wanted = controller.current.version
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
      new.session = .success(facts)
      loads = session != facts.id
      session = facts.id
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
    if loads {
      startLoading()
      push.sessionBegan()
    }
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

  /// Loads in its own task, whose result counts only while the same session is shown.
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

/// A guest who signs in to an account that exists.
public struct GuestMerge: Sendable {
  /// The guest's session, with which ``SessionManager/api`` still calls.
  public let guest: SignedIn
  /// The account that the user has signed in to.
  public let account: Profile
  /// Its access token, for the app's requests in its name, as `Authorization: Bearer`. It is not refreshed meanwhile.
  public let token: AccessToken
}

extension SessionError {
  /// Maps an error of the app's content to a session error.
  fileprivate init(loading error: any Error) {
    switch error {
    case let error as SessionError: self = error
    case APIError.session(let error): self = error
    case APIError.network(let error): self = SessionError(error)
    case APIError.status(let status, let problem):
      var server = RequestError.ServerResponse(
        status: status, error: problem?.code, detail: problem?.detail ?? problem?.title)
      server.isOfAPI = problem?.code != nil
      self = .requestFailed(.server(server))
    case is CancellationError: self = .cancelled
    case APIError.unreadable(let place): self = .invalidResponse(place)
    case let error as any HandstampError: self = .contentFailed(error.description)
    default: self = .contentFailed(String(describing: type(of: error)))
    }
  }
}

/// The state of a value that is loaded.
public enum Loadable<Value: Sendable>: Sendable {
  /// Loading has not begun.
  case notInitiated
  case loading
  case success(Value)
  case failure(SessionError)

  /// The loaded value; `nil` in every other case.
  public var value: Value? {
    if case .success(let value) = self { value } else { nil }
  }
}

extension Loadable: Equatable where Value: Equatable {}
extension Loadable: Hashable where Value: Hashable {}
