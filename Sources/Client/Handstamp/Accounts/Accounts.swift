public import HandstampCore
package import HandstampSupport
public import Observation

/// Several accounts on one device: the list, the active one, and a session for each.
///
/// Every account has its own vault and session, so that an event in one never affects another. Only ``activate(_:)`` replaces
/// the active account, and ``remove(_:_:)`` leaves none active; the next one that is added becomes it. To use another account
/// for one call, take its ``session(of:)``. Other programs on the device that share the list see a change within a second.
@MainActor @Observable
public final class Accounts<Content: Sendable> {
  /// The list at one instant, replaced as a whole.
  public struct Snapshot: Sendable, Hashable {
    /// The accounts, in the order in which they were added.
    public var accounts: [ListedAccount] = []
    /// The active account; `nil` if none is active.
    public var activeID: AccountID?
    /// Whether the stored list has been read.
    public var isLoaded = false
    /// Why the list cannot be read or written now. The last known list is still shown.
    public var storageError: VaultError?
  }

  /// The current list.
  public private(set) var snapshot: Snapshot {
    get {
      _$observationRegistrar.access(self, keyPath: snapshotPath)
      return current
    }
    set { _$observationRegistrar.withMutation(of: self, keyPath: snapshotPath) { current = newValue } }
  }
  @ObservationIgnored private var current = Snapshot()
  /// The access that the macro would write in place: in a generic class each use of a key path creates it again, which takes longer than everything
  /// else that a look-up does.
  @ObservationIgnored private let snapshotPath: KeyPath<Accounts, Snapshot> = \.snapshot

  @ObservationIgnored let store: any AccountsStore
  @ObservationIgnored private let makeSession: (AccountID) throws(SessionError) -> SessionManager<Content>
  @ObservationIgnored private let observesChanges: Bool
  @ObservationIgnored let qualifiesIDs: Bool
  /// Where an earlier version of the program kept its session, unless it is known what is there.
  @ObservationIgnored var earlier: [EarlierPlace]
  /// The backend of every account; `nil` if each session was created with one of its own.
  public nonisolated let backend: (any Backend)?
  /// The earlier places of accounts whose session may still be there.
  @ObservationIgnored let adopted: Locked<[AccountID: [EarlierPlace]]>
  @ObservationIgnored private var sessions: [AccountID: SessionManager<Content>] = [:]
  @ObservationIgnored private var places: [AccountID: Int] = [:]
  @ObservationIgnored private var tags: [String: Int] = [:]
  @ObservationIgnored private var watching: Task<Void, Never>?
  /// Reads and edits run one after the other, so that an old response never overwrites a newer one.
  @ObservationIgnored private var last: Task<Void, Never>?
  /// Adding and removing one account are serialized, too.
  @ObservationIgnored private var busy: [AccountID: Task<Void, Never>] = [:]
  /// Sessions of removed accounts that still have pending revocations or clean-ups.
  @ObservationIgnored private var leaving: [AccountID: Task<Void, Never>] = [:]
  @ObservationIgnored let clock: any SessionClock

  /// Begins to read the list at once.
  ///
  /// - Parameters:
  ///   - backend: where `AuthView` of HandstampUI signs in to another account; `nil` (the default) if the app does that itself.
  ///   - makeSession: creates the session of an account, with a vault of its own. Called when a session is first requested, or when
  ///     the end of another one depends on it, not for every account in the list.
  public convenience init(
    store: any AccountsStore, clock: any SessionClock = SystemClock(), backend: (any Backend)? = nil,
    makeSession: @escaping (AccountID) -> SessionManager<Content>
  ) {
    self.init(store: store, clock: clock, observesChanges: true, backend: backend, makeSession: makeSession)
  }

  /// Begins to read the list only if it `observesChanges`.
  ///
  /// - Parameters:
  ///   - observesChanges: Whether to read the list at once and after each change by another program, and to complete the work of
  ///     removed accounts. `false` is for a program that runs one command and exits: it begins
  ///     no reading by itself, see ``load()``, and opens no removed account. The program delivers their revocations, see ``forget(_:)``.
  ///   - qualifiesIDs: Whether every ID in the list begins with the account's server, for a program whose users choose the
  ///     server. So each account's server is known even after it was removed.
  ///   - makeSession: Creates the session of an account. If it throws, the function that needs the session throws the same
  ///     error, and ``session(of:)`` is `nil`.
  package init(
    store: any AccountsStore, clock: any SessionClock = SystemClock(), observesChanges: Bool,
    qualifiesIDs: Bool = false,
    earlier: [EarlierPlace] = [], backend: (any Backend)? = nil,
    adopted: Locked<[AccountID: [EarlierPlace]]> = Locked([:]),
    makeSession: @escaping (AccountID) throws(SessionError) -> SessionManager<Content>
  ) {
    self.earlier = earlier
    self.backend = backend
    self.adopted = adopted
    self.store = store
    self.clock = clock
    self.observesChanges = observesChanges
    self.qualifiesIDs = qualifiesIDs
    self.makeSession = makeSession
    guard observesChanges else { return }
    watching = Task { [weak self] in
      // Not on the main actor, which a folder that does not answer would block; and before the list is read, so that no change
      // falls between the two.
      let changes = await Task.detached { store.changes() }.value
      await self?.load()
      for await _ in changes { await self?.load() }
    }
  }

  deinit {
    watching?.cancel()
    for task in leaving.values { task.cancel() }
  }

  // MARK: Reading

  var list: AccountsList { AccountsList(accounts: snapshot.accounts, active: snapshot.activeID) }

  /// The accounts, in the order in which they were added.
  public var accounts: [ListedAccount] { snapshot.accounts }

  /// The active account's ID; `nil` if none is active.
  public var activeID: AccountID? { snapshot.activeID }

  /// The session of the active account; `nil` if none is active.
  public var active: SessionManager<Content>? { activeID.flatMap { session(of: $0) } }

  public subscript(id: AccountID) -> ListedAccount? {
    // Also for an unknown account: an observer is told when it is added.
    let accounts = snapshot.accounts
    return places[id].map { accounts[$0] }
  }

  /// Returns the account with this tag; `nil` if there is none.
  public func account(tagged tag: String) -> ListedAccount? {
    let accounts = snapshot.accounts
    return tags[tag].map { accounts[$0] }
  }

  /// Returns the session of an account, active or not; `nil` if it is not in the list.
  public func session(of id: AccountID) -> SessionManager<Content>? {
    guard places[id] != nil else { return nil }
    return try? openSession(of: id)
  }

  /// Returns when the stored list has been read.
  public func load() async {
    let trouble = await adopt()
    _ = await inTurn { [store] in
      let result = await store.read()
      // The one account may be in an earlier place that cannot be read now.
      if let trouble, case .success(let list) = result, list.accounts.isEmpty { return .failure(trouble) }
      return result
    }
  }

  /// The controllers of the sessions that have been requested so far; the active account's session is requested here.
  package var openControllers: [SessionController] {
    _ = active
    return sessions.values.map(\.controller)
  }

  // MARK: Changing

  /// Makes an account the active one, here and in every program that shares the list.
  ///
  /// - Throws: ``SessionError/storage(_:)`` if the list cannot be written; ``SessionError/refused(code:detail:)`` with
  ///   `unknown_account` if the account is not in it.
  public func activate(_ id: AccountID) async throws(SessionError) {
    let list = try await change(.activate(id))
    guard list.active == id else { throw .refused(code: "unknown_account", detail: id.rawValue) }
  }

  /// Sets an account's tag; `nil` removes it. The tag is taken from any other account that has it.
  ///
  /// - Throws: ``SessionError/storage(_:)`` if the list cannot be written.
  public func setTag(_ tag: String?, of id: AccountID) async throws(SessionError) { try await change(.tag(id, tag)) }

  /// Signs an account out and removes it from the list. If it was the active one, no account is active. The revocation is sent
  /// as soon as the server can be reached, after a restart if necessary. If another program signs in to the account meanwhile,
  /// it stays in the list, with that session.
  ///
  /// - Parameter plan: selects the clean-up steps. Default ``SignOutPlan/everything``.
  /// - Throws: ``SessionError/storage(_:)`` if the sign-out or the list cannot be stored.
  @discardableResult
  public func remove(
    _ id: AccountID, _ plan: SignOutPlan = .everything
  ) async throws(SessionError) -> SignOutReport {
    try await alone(id) { () async throws(SessionError) in
      if !self.snapshot.isLoaded { await self.load() }
      if !self.snapshot.isLoaded, let trouble = self.snapshot.storageError { throw .storage(trouble) }
      let session = try self.openSession(of: id)
      let report = await session.signOut(plan)
      // An account whose sign-out could not be stored stays in the list: its vault may still hold the session.
      if let trouble = report.storageError { throw .storage(trouble) }
      let record = self[id]
      try await self.change(.remove(id, isLeaving: true))
      // Another program may have signed in to it meanwhile: it stays in the list, with that session.
      if let record, await session.controller.isSessionStored() { try await self.change(.add(record)) }
      return report
    }
  }

  /// Forgets a removed account that has no work left.
  ///
  /// - Returns: `false` if it is in the list again, or if the list cannot be written: then it is forgotten another time.
  @discardableResult
  package func forget(_ id: AccountID) async -> Bool {
    guard let list = try? await change(.left(id)) else { return false }
    return list[id] == nil
  }

  // MARK: Parts

  func alone<Success: Sendable>(
    _ id: AccountID, _ body: @escaping @MainActor () async throws(SessionError) -> Success
  ) async throws(SessionError) -> Success {
    let turn = Task { [previous = busy[id]] () -> Result<Success, SessionError> in
      await previous?.value
      do throws(SessionError) { return .success(try await body()) } catch { return .failure(error) }
    }
    busy[id] = Task { _ = await turn.value }
    return try await turn.value.get()
  }

  /// Keeps the sessions of removed accounts while they have pending work, and opens those that an earlier launch left behind.
  private func follow(_ ids: [AccountID]) {
    for id in ids where leaving[id] == nil {
      // If it cannot be opened now, perhaps when the list is read again.
      guard let session = try? openSession(of: id) else { continue }
      leaving[id] = Task { [weak self] in
        let isWorkDone = await session.controller.wait(until: .workDone, within: nil)
        await self?.left(id, isWorkDone && !session.controller.vault.hasOthers.withLock { $0 })
      }
    }
  }

  private func left(_ id: AccountID, _ isWorkDone: Bool) async {
    leaving[id] = nil
    if places[id] == nil { sessions[id] = nil }
    if isWorkDone { await forget(id) }
  }

  func openSession(of id: AccountID) throws(SessionError) -> SessionManager<Content> {
    if let session = sessions[id] { return session }
    let session = try makeSession(id)
    // Another person's session would be listed under this one's name.
    session.controller.owner.withLock { owner in
      owner = { [weak self] tokens in
        guard let self else { return true }
        return await owns(tokens, id)
      }
    }
    session.controller.neighbours.withLock { neighbours in
      neighbours?.restore = { [weak self] in await self?.restoreOthers(than: id) }
    }
    sessions[id] = session
    return session
  }

  /// Until one of them is in use, or cannot be read: that is enough to know.
  private func restoreOthers(than id: AccountID) async {
    let others = accounts.map(\.id).filter { $0 != id }
    for other in others.filter({ sessions[$0] != nil }) + others.filter({ sessions[$0] == nil }) {
      guard let session = session(of: other) else { continue }
      guard case .success(nil) = await session.restoreSession() else { return }
    }
  }

  @discardableResult
  func change(_ edit: AccountsEdit) async throws(SessionError) -> AccountsList {
    let result = await inTurn { [store] in await store.edit(edit) }
    do throws(VaultError) { return try result.get() } catch { throw .storage(error) }
  }

  private func inTurn(
    _ work: @escaping @Sendable () async -> Result<AccountsList, VaultError>
  ) async -> Result<AccountsList, VaultError> {
    let turn = Task { [last] in
      await last?.value
      let result = await work()
      show(result)
      return result
    }
    last = Task { _ = await turn.value }
    return await turn.value
  }

  private func show(_ result: Result<AccountsList, VaultError>) {
    var new = snapshot
    switch result {
    case .success(let list):
      (new.accounts, new.activeID) = (list.accounts, list.active)
      new.isLoaded = true
      new.storageError = nil
      if observesChanges { follow(list.leaving) }
    case .failure(let error): new.storageError = error
    }
    guard new != snapshot else { return }
    places = Dictionary(new.accounts.enumerated().map { ($1.id, $0) }) { first, _ in first }
    tags = Dictionary(new.accounts.enumerated().compactMap { place, account in account.tag.map { ($0, place) } }) {
      first, _ in first
    }
    snapshot = new
  }
}
