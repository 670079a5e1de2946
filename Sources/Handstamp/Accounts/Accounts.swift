public import Foundation
public import HandstampCore
public import Observation

/// Several accounts on one device: the list, the active one, and a session for each.
///
/// Every account has its own vault and session, so that an event in one never affects another. Only ``activate(_:)`` changes
/// the active account; to use another account for one call, take its ``session(of:)``. Other programs on the device that share
/// the list see a change within a second.
@MainActor @Observable
public final class Accounts<Server: Backend, Content: Sendable>: @MainActor AccountsKeeper {
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
  public private(set) var snapshot = Snapshot()

  @ObservationIgnored private let index: any AccountsIndex
  @ObservationIgnored private let makeSession: (AccountID) -> SessionManager<Server, Content>
  @ObservationIgnored private var sessions: [AccountID: SessionManager<Server, Content>] = [:]
  @ObservationIgnored private var places: [AccountID: Int] = [:]
  @ObservationIgnored private var watching: Task<Void, Never>?
  /// Reads and edits run one after the other, so that an old response never overwrites a newer one.
  @ObservationIgnored private var last: Task<Void, Never>?
  /// Adding and removing one account are serialized, too.
  @ObservationIgnored private var busy: [AccountID: Task<Void, Never>] = [:]
  /// Sessions of removed accounts that still have pending revocations or clean-ups.
  @ObservationIgnored private var leaving: [AccountID: Task<Void, Never>] = [:]
  @ObservationIgnored private let clock: any SessionClock

  /// Begins to read the list at once.
  ///
  /// - Parameter makeSession: creates the session of an account, with a vault of its own. Called when a session is first
  ///   requested, not for every account in the list.
  public init(
    index: any AccountsIndex, clock: any SessionClock = SystemClock(),
    makeSession: @escaping (AccountID) -> SessionManager<Server, Content>
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

  /// The accounts, in the order in which they were added.
  public var accounts: [ListedAccount] { snapshot.accounts }

  /// The active account's ID; `nil` if none is active.
  public var activeID: AccountID? { snapshot.activeID }

  /// The session of the active account; `nil` if none is active.
  public var active: SessionManager<Server, Content>? { activeID.flatMap { session(of: $0) } }

  public subscript(id: AccountID) -> ListedAccount? { places[id].map { snapshot.accounts[$0] } }

  /// Returns the account with this tag; `nil` if there is none.
  public func account(tagged tag: String) -> ListedAccount? { snapshot.accounts.first { $0.tag == tag } }

  /// Returns the accounts that a user may mean by `name`: by tag, else by ID, else by name, else by the part of an email address
  /// before the `@`. More than one means that the name is ambiguous.
  public func accounts(named name: String) -> [ListedAccount] { snapshot.accounts.named(name) }

  /// Returns the session of an account, active or not; `nil` if it is not in the list.
  public func session(of id: AccountID) -> SessionManager<Server, Content>? {
    guard places[id] != nil else { return nil }
    return openSession(of: id)
  }

  /// Returns when the stored list has been read.
  public func load() async {
    _ = await inTurn { [index] in await index.read() }
  }

  // MARK: Changing

  /// Signs in to another account, or again to one that is in the list. The first account becomes the active one; any other
  /// waits for ``activate(_:)``. If the tokens cannot be stored, the account is in the list nevertheless, signed out.
  ///
  /// The list uses the server's ID for the account. If an account of another server already has that ID, the new one's ID is
  /// prefixed with the URL of its server, which ``TokenResponse/issuer`` gives: a backend names it in every response or in none.
  ///
  /// A closure that calls a server itself must first take its turn, see ``SignInTurn``.
  ///
  /// - Parameters:
  ///   - tag: the app's own name for the account. It is taken from any other account that has it.
  ///   - perform: obtains the tokens from the server.
  /// - Throws: the error of `perform`, unchanged; otherwise a ``SessionError``.
  @discardableResult
  public func add(
    tag: String? = nil, remember: Bool = true, _ perform: () async throws -> TokenResponse
  ) async throws -> AccountID {
    let turn = SignInTurn { [index] () async throws(VaultError) in
      try await index.lockSignIn(within: SignInTurn.patience)?.unlock
    }
    defer { turn.end() }
    let tokens = try await SignInTurn.$current.withValue(turn) { try await perform() }
    return try await add(tokens, tag, remember)
  }

  private func add(
    _ tokens: TokenResponse, _ tag: String?, _ remember: Bool
  ) async throws(SessionError) -> AccountID {
    guard let profile = tokens.profile else { throw .invalidResponse("the token response does not name the account") }
    // Another program may have added an account with that ID.
    await load()
    let id = listedID(profile.id, at: tokens.issuer)
    try await alone(id) { () async throws(SessionError) in
      let record = ListedAccount(
        id: id, name: profile.name, tag: tag, server: tokens.issuer, addedAt: self.clock.now().wall)
      try await self.add(record) { () async throws(SessionError) in
        try await self.openSession(of: id).signIn(with: tokens, remember: remember)
      }
    }
    return id
  }

  /// Returns the list's ID for the server's `id`. Without a server, `id` belongs to no server's account.
  private func listedID(_ id: AccountID, at server: String?) -> AccountID {
    var choices = [id]
    // An account may be named like another one's prefixed ID: then the server's URL is prefixed again.
    while let known = self[choices[choices.count - 1]], known.server != server {
      choices.append(ListedAccount.id(of: choices[choices.count - 1], at: server))
    }
    // The account's own prefixed ID, even if a shorter one is free by now.
    let whole = ListedAccount.id(of: id, at: server)
    return (choices + [whole]).first { self[$0] != nil && self[$0]?.server == server } ?? choices[choices.count - 1]
  }

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
      let session = self.openSession(of: id)
      let report = await session.signOut(plan)
      // An account whose sign-out could not be stored stays in the list: its vault may still hold the session.
      if let trouble = report.storageError { throw .storage(trouble) }
      if let record = self[id] {
        _ = try await self.remove(record, isLeaving: true) { await session.controller.isSessionStored() }
      } else {
        try await self.apply(.remove(id, isLeaving: true))
      }
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

  /// Keeps the sessions of removed accounts while they have pending work, and opens those that an earlier launch left behind.
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

  private func openSession(of id: AccountID) -> SessionManager<Server, Content> {
    if let session = sessions[id] { return session }
    let session = makeSession(id)
    sessions[id] = session
    return session
  }

  package func apply(_ edit: AccountsEdit) async throws(SessionError) { try await self.change(edit) }

  @discardableResult
  private func change(_ edit: AccountsEdit) async throws(SessionError) -> AccountsList {
    let result = await inTurn { [index] in await index.edit(edit) }
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
    case .failure(let error): new.storageError = error
    }
    if case .success(let list) = result { follow(list.leaving) }
    guard new != snapshot else { return }
    places = Dictionary(new.accounts.enumerated().map { ($1.id, $0) }) { first, _ in first }
    snapshot = new
  }
}

extension Accounts {
  /// Manages the accounts of the program `name`, such as `org.example.forum`, at one backend. List, vaults and folders are in
  /// the platform's standard places. A sign-out removes those folders of the account that its plan includes: the
  /// database that `StorePlace` of `HandstampData` names, the downloads (`AccountID.downloadsFolder(of:)`) and the images.
  ///
  /// - Parameters:
  ///   - audits: whether each account has an audit log, see ``FileAuditLog``. With a vault of your own, the logs lie
  ///     where the platform's vaults do, and their key beside them, in `audit.key`.
  ///   - presence: one lock for all accounts; `nil` if none.
  ///   - vault: creates an account's vault, such as `.keychain(name, account: $0)`; `nil` uses the platform's vault.
  public convenience init(
    _ name: String, backend: Server, baseURL: URL, vault: ((AccountID) -> any Vault)? = nil,
    transport: any Transport = URLSessionTransport(),
    policy: SessionPolicy = SessionPolicy(), audits: Bool = false, presence: PresenceLock? = nil,
    cleanups: @escaping (AccountID) -> [CleanupStep] = { _ in [] },
    load: @escaping @Sendable (APIClient) async throws -> Content
  ) {
    self.init(index: .platform(name)) { account in
      let vault = vault?(account) ?? PlatformVault.platform(name, account: account)
      return SessionManager(
        backend: backend, vault: vault, baseURL: baseURL, transport: transport, policy: policy,
        audit: audits ? FileAuditLog.log(of: vault, account, program: name) : nil, presence: presence,
        cleanups: cleanups(account) + (AccountFolder(of: account, program: name).map { .removals(in: $0) } ?? []),
        load: load)
    }
  }
}

extension FileAuditLog {
  fileprivate static func log(of vault: any Vault, _ account: AccountID, program: String) -> FileAuditLog {
    if let known = vault as? any AuditableVault { return FileAuditLog(vault, in: known.auditPlace) }
    let folder = ProgramFolder(program)?.vaults ?? ""
    // Not the key of the platform's vaults: there may be none.
    return FileAuditLog(vault, in: AuditPlace(folder: folder, account: account, key: .file(folder + "/audit.key")))
  }
}
