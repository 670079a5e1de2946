public import Foundation
public import HandstampCore
public import Observation

/// Several accounts on one device: the list, the active one, and a session for each.
///
/// Every account has a vault, and a session, of its own: what happens to one never touches another. Only
/// ``activate(_:)`` moves the active pointer; to use another account for one call, take its ``session(of:)``. Other programs
/// on the device that share the list see a change within a second.
@MainActor @Observable
public final class Accounts<Content: Sendable> {
  /// What is known at one instant, replaced as a whole.
  public struct Snapshot: Sendable, Hashable {
    public var list = AccountsList()
    /// Whether the stored list has been read.
    public var isLoaded = false
    /// Why the list cannot be read or written now. What was known before is still shown.
    public var trouble: VaultTrouble?
  }

  public private(set) var snapshot = Snapshot()

  @ObservationIgnored private let index: any AccountsIndex
  @ObservationIgnored private let makeSession: (AccountID) -> SessionManager<Content>
  @ObservationIgnored private var sessions: [AccountID: SessionManager<Content>] = [:]
  @ObservationIgnored private var places: [AccountID: Int] = [:]
  @ObservationIgnored private var watching: Task<Void, Never>?
  /// Reads and edits come one after the other, so that an old answer never covers a newer one.
  @ObservationIgnored private var last: Task<Void, Never>?
  /// Adding and removing one account come one after the other, too.
  @ObservationIgnored private var busy: [AccountID: Task<Void, Never>] = [:]
  /// Sessions of removed accounts that have something left to do.
  @ObservationIgnored private var leaving: [AccountID: Task<Void, Never>] = [:]
  @ObservationIgnored private let clock: any SessionClock

  /// Begins to read the list at once.
  ///
  /// - Parameter makeSession: makes the session of an account, with a vault of its own. Called when a session is first asked
  ///   for, not for every account in the list.
  public init(
    index: any AccountsIndex, clock: any SessionClock = SystemClock(),
    makeSession: @escaping (AccountID) -> SessionManager<Content>
  ) {
    self.index = index
    self.clock = clock
    self.makeSession = makeSession
    let changes = index.changes()
    watching = Task { [weak self] in
      await self?.load()
      for await _ in changes { await self?.load() }
    }
  }

  deinit {
    watching?.cancel()
    for task in leaving.values { task.cancel() }
  }

  // MARK: Reading

  /// In the order in which they were added.
  public var accounts: [ListedAccount] { snapshot.list.accounts }

  public var activeID: AccountID? { snapshot.list.active }

  /// The session of the active account.
  public var active: SessionManager<Content>? { activeID.flatMap { session(of: $0) } }

  public subscript(id: AccountID) -> ListedAccount? { places[id].map { snapshot.list.accounts[$0] } }

  public func account(tagged tag: String) -> ListedAccount? { snapshot.list.account(tagged: tag) }

  /// The session of one account, whichever is active; nothing for one that is not in the list.
  public func session(of id: AccountID) -> SessionManager<Content>? {
    guard places[id] != nil else { return nil }
    return openSession(of: id)
  }

  /// Returns when the stored list has been read.
  public func load() async {
    _ = await inTurn { [index] in await index.read() }
  }

  // MARK: Changing

  /// Signs in to a further account, or anew to one that is in the list. The first account becomes the active one, any other
  /// waits for ``activate(_:)``. Where the grant cannot be stored, the account is in the list all the same, signed out.
  ///
  /// The account's id is what its server calls it. Where an account of another server is in the list under that id already,
  /// the address of the new one's server comes before it: ``HandstampCore/Grant/authority`` says which servers are others.
  ///
  /// - Parameter tag: the app's own name for it. One that another account has goes over to this one.
  @discardableResult
  public func add(
    tag: String? = nil, remember: Bool = true, _ perform: () async throws -> Grant
  ) async throws(SessionError) -> AccountID {
    let turn = SignInTurn { [index] () async throws(VaultTrouble) in
      try await index.lockSignIn(within: SignInTurn.patience)?.unlock
    }
    defer { turn.end() }
    let grant: Grant
    do { grant = try await SignInTurn.$current.withValue(turn) { try await perform() } } catch {
      throw SessionError(signIn: error)
    }
    guard let profile = grant.profile else { throw .invalidAnswer("the grant does not say whose it is") }
    // Another program may have added one of that id.
    if grant.authority != nil { await load() }
    let id = listedID(profile.id, at: grant.authority)
    try await alone(id) { () async throws(SessionError) in
      // In this order: an account in the list without a session can be signed in to, one that no list knows is lost. It
      // stays there whatever happens: another program may have signed in to it meanwhile.
      let record = ListedAccount(
        id: id, name: profile.name, tag: tag, server: grant.authority, addedAt: self.clock.now().wall)
      try await self.change(.add(record))
      try await self.openSession(of: id).signIn(remember: remember) { grant }
      // Another program may have taken it off between the two.
      try await self.change(.add(record))
    }
    return id
  }

  /// The id in the list of whom a server calls `id`. One that was listed before servers were noted is taken for this server's.
  private func listedID(_ id: AccountID, at authority: String?) -> AccountID {
    guard let authority else { return id }
    var choices = [id]
    // Somebody may call an account what would be another's whole name: then the address comes before that, too.
    while let known = self[choices[choices.count - 1]], let server = known.server, server != authority {
      choices.append(AccountID("\(authority)#\(choices[choices.count - 1].rawValue)"))
    }
    // Its own place, also while the one before it is free.
    let whole = AccountID("\(authority)#\(id.rawValue)")
    return (choices + [whole]).first { self[$0]?.server == authority } ?? choices[choices.count - 1]
  }

  /// Makes an account the active one, here and in every program that shares the list.
  ///
  /// - Throws: ``SessionError/storage(_:)`` when the list cannot be written; ``SessionError/refused(code:detail:)`` with
  ///   `unknown_account` when it does not name this account.
  public func activate(_ id: AccountID) async throws(SessionError) {
    let list = try await change(.activate(id))
    guard list.active == id else { throw .refused(code: "unknown_account", detail: id.rawValue) }
  }

  public func setTag(_ tag: String?, of id: AccountID) async throws(SessionError) { try await change(.tag(id, tag)) }

  /// Signs an account out and takes it off the list. If it was the active one, none is. The server is told as soon as it can
  /// be reached, also by the next launch. Where another program signs in to it meanwhile, it stays in the list, with that
  /// session.
  @discardableResult
  public func remove(
    _ id: AccountID, _ plan: SignOutPlan = .everything
  ) async throws(SessionError) -> SignOutReport {
    try await alone(id) { () async throws(SessionError) in
      let session = self.openSession(of: id)
      let report = await session.signOut(plan)
      // The list keeps what could not be taken down: its vault may still hold the session.
      if let trouble = report.notDurable { throw .storage(trouble) }
      let record = self[id]
      try await self.change(.remove(id, isLeaving: true))
      // Another program may have signed in to it before that: a session that no list names would be lost.
      if let record, await session.controller.isSessionStored() { try await self.change(.add(record)) }
      return report
    }
  }

  // MARK: Parts

  private func alone<Success: Sendable>(
    _ id: AccountID, _ body: @escaping @MainActor () async throws(SessionError) -> Success
  ) async throws(SessionError) -> Success {
    let turn = Task { [former = busy[id]] () -> Result<Success, SessionError> in
      await former?.value
      do throws(SessionError) { return .success(try await body()) } catch { return .failure(error) }
    }
    busy[id] = Task { _ = await turn.value }
    return try await turn.value.get()
  }

  /// Keeps the sessions of removed accounts for as long as they have something to do; opens those that an earlier launch
  /// left.
  private func follow(_ ids: [AccountID]) {
    for id in ids where leaving[id] == nil {
      let session = openSession(of: id)
      leaving[id] = Task { [weak self] in
        let isSettled = await session.controller.settled()
        await self?.left(id, isSettled)
      }
    }
  }

  private func left(_ id: AccountID, _ isSettled: Bool) async {
    leaving[id] = nil
    if places[id] == nil { sessions[id] = nil }
    if isSettled { _ = try? await change(.left(id)) }
  }

  private func openSession(of id: AccountID) -> SessionManager<Content> {
    if let session = sessions[id] { return session }
    let session = makeSession(id)
    sessions[id] = session
    return session
  }

  @discardableResult
  private func change(_ edit: AccountsEdit) async throws(SessionError) -> AccountsList {
    let result = await inTurn { [index] in await index.edit(edit) }
    do throws(VaultTrouble) { return try result.get() } catch { throw .storage(error) }
  }

  private func inTurn(
    _ work: @escaping @Sendable () async -> Result<AccountsList, VaultTrouble>
  ) async -> Result<AccountsList, VaultTrouble> {
    let turn = Task { [last] in
      await last?.value
      let result = await work()
      show(result)
      return result
    }
    last = Task { _ = await turn.value }
    return await turn.value
  }

  private func show(_ result: Result<AccountsList, VaultTrouble>) {
    var new = snapshot
    switch result {
    case .success(let list):
      new.list = list
      new.isLoaded = true
      new.trouble = nil
    case .failure(let trouble): new.trouble = trouble
    }
    guard new != snapshot else { return }
    places = Dictionary(new.list.accounts.enumerated().map { ($1.id, $0) }) { first, _ in first }
    snapshot = new
    follow(new.list.leaving)
  }
}

extension Accounts {
  /// The accounts of the program `name`, such as `org.example.forum`, at one backend: list, vaults and folders are where the
  /// platform keeps such things. A sign-out whose plan includes the database removes the account's folder.
  ///
  /// - Parameters:
  ///   - audits: whether each account has an audit log, see ``FileAuditLog``.
  ///   - presence: one lock for all accounts.
  ///   - vault: where an account's secrets are kept, such as `.keychain(name, account: $0)`; nothing: the platform's vault.
  public convenience init(
    _ name: String, backend: any Backend, baseURL: URL, vault: ((AccountID) -> any Vault)? = nil,
    transport: any Transport = URLSessionTransport(),
    policy: SessionPolicy = SessionPolicy(), audits: Bool = false, presence: PresenceLock? = nil,
    cleanups: @escaping (AccountID) -> [CleanupStep] = { _ in [] },
    load: @escaping @Sendable (APIClient) async throws -> Content
  ) {
    self.init(index: .platform(name)) { account in
      let data = account.folder(of: name).map {
        CleanupStep.removal(of: URL(fileURLWithPath: $0, isDirectory: true), "account_folder", .database)
      }
      let platform = PlatformVault.platform(name, account: account)
      return SessionManager(
        backend: backend, vault: vault?(account) ?? platform, baseURL: baseURL, transport: transport, policy: policy,
        audit: audits ? FileAuditLog(platform) : nil, presence: presence,
        cleanups: cleanups(account) + [data].compactMap { $0 }, load: load)
    }
  }
}
