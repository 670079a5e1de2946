import Crypto
public import HandstampCore
import HandstampSupport

/// An audit log in a file: JSON lines, readable by people and programs, for the owner alone (mode 0600). Several processes
/// may write to it.
///
/// Every line refers to the previous one and carries an HMAC-SHA-256, so without the key no change goes undetected. The
/// vault's next edit records the newest line, which makes truncation detectable as well.
///
/// | vault | folder of the log | its key |
/// |---|---|---|
/// | ``SealedFileVault`` | the vault's | derived from the vault's |
/// | ``KeychainVault`` | the vault's, for locks | in a keychain item of its own |
/// | any other | the program's choice | any ``VaultKey`` |
///
/// With a vault that forgets at the end of its process, such as ``MemoryVault``, a truncation is detected only within that
/// process; every other change is detected later as well.
///
/// An app reads it with ``entries()``, checks it with ``verify()`` and shares it with ``export()``; so do other programs that open the
/// same vault.
///
/// - The log never stops a session. Entries that cannot be written now (a full disk, a locked key) wait in memory, at
///   most 256 of them, and are written with the next; if entries are lost, the log states how many.
/// - It is bounded: once the newer half is full the older one is deleted, and a line states so.
/// - A line left unfinished by a killed program is set aside (`….audit-torn`) and noted.
public final class FileAuditLog: AuditLog {
  private struct State: Sendable {
    var pending: [AuditEntry] = []
    var lost = 0
    /// The newest record that this process has seen.
    var known: AuditHead?
    /// The newest record that is durable.
    var durable: AuditHead?
    var trouble: VaultError?

    /// Puts unwritten entries back, before any that were added since.
    mutating func wait(_ entries: [AuditEntry], lost count: Int) {
      pending = entries + pending
      lost += count
      bound()
    }

    /// Drops the oldest entries above the limit.
    mutating func bound() {
      let surplus = max(0, pending.count - 256)
      pending.removeFirst(surplus)
      lost += surplus
    }
  }

  private let vault: any Vault
  private let home: AuditPlace
  private let writer: AuditWriter
  private let half: Int
  private let omitted: Set<AuditEntry.Action>
  private let state = Locked(State())

  /// Creates the log of `vault`'s account. Nothing is read or created until first use.
  ///
  /// - Parameters:
  ///   - program: The program's name in the log; its file name by default.
  ///   - limit: The approximate size of the log on disk, in bytes; at least 32 KiB.
  public convenience init(_ vault: SealedFileVault, program: String? = nil, limit: Int = 1 << 20) {
    self.init(vault, in: vault.auditPlace, program: program, limit: limit)
  }

  /// Creates the log of `vault`'s account, like the log of a ``SealedFileVault``.
  public convenience init(_ vault: KeychainVault, program: String? = nil, limit: Int = 1 << 20) {
    self.init(vault, in: vault.auditPlace, program: program, limit: limit)
  }

  /// Creates the log of any vault. Nothing is read or created until first use.
  ///
  /// - Parameters:
  ///   - vault: Keeps the log's progress.
  ///   - folder: An absolute path, the same for every program that writes to the log. Created by the first record, accessible by
  ///     its owner only, and excluded from backups.
  ///   - key: Created with the first record if there is none. Anyone who has it can rewrite the log unnoticed, so keep it as well
  ///     as the vault.
  ///   - program: The program's name in the log; its file name by default.
  ///   - limit: The approximate size of the log on disk, in bytes; at least 32 KiB.
  public convenience init(
    _ vault: any Vault, folder: String, account: AccountID, key: VaultKey, program: String? = nil, limit: Int = 1 << 20
  ) {
    let place = AuditPlace(folder: folder, account: account, key: key)
    self.init(vault, in: place, program: program, limit: limit)
  }

  /// - Parameter omitted: Actions that are not worth a line, such as that a program of many short runs read its session.
  package init(
    _ vault: any Vault, in place: AuditPlace, program: String? = nil, limit: Int = 1 << 20,
    omitting omitted: Set<AuditEntry.Action> = []
  ) {
    self.omitted = omitted
    self.vault = vault
    home = place
    writer = AuditWriter(program: program ?? programName(), process: Int64(getpid()))
    half = max(limit, 32 << 10) / 2
  }

  public var head: AuditHead? { state.withLock { $0.durable } }

  /// The error that keeps the log from being written, or `nil`. Entries wait meanwhile.
  public var trouble: VaultError? { state.withLock { $0.trouble } }

  public func found(_ stored: AuditHead) {
    state.withLock { state in
      if stored.sequence > state.known?.sequence ?? 0 { state.known = stored }
    }
  }

  /// Records an entry. It is on disk on return, or waits for the next attempt.
  @concurrent public func record(_ entry: AuditEntry) async {
    guard !omitted.contains(entry.action) else { return }
    state.withLock {
      $0.pending.append(entry); $0.bound()
    }
    var trouble: VaultError?
    do throws(VaultError) { try await writePending() } catch { trouble = error }
    state.withLock { [trouble] in $0.trouble = trouble }
  }

  /// Returns the entries, oldest first, by whichever program. Those with ``AuditRecord/isIntact`` `false` may have been changed; a line
  /// that is no entry is left out, and ``verify()`` reports it.
  ///
  /// A session's newest events may be missing unless its ``SessionController/flushAuditLog()`` has returned.
  ///
  /// - Throws: The error that keeps the vault or its key from being read, such as ``VaultError/locked``; nothing can be checked without
  ///   them.
  @concurrent public func entries() async throws(VaultError) -> [AuditRecord] {
    try await trail().lines.compactMap { $0 }
  }

  /// Checks the whole log against the vault.
  ///
  /// | tampering | verdict |
  /// |---|---|
  /// | a byte changed; a line removed, duplicated, moved, or written without the key | ``AuditVerdict/broken(at:_:)`` |
  /// | lines cut from the end, including the newest one that the vault knows | ``AuditVerdict/cut(after:head:)`` |
  /// | the older half or the whole log removed | one of the two |
  /// | lines cut from the end before a vault edit recorded them | ``AuditVerdict/intact(newer:)`` |
  ///
  /// - Throws: As ``entries()`` does.
  @concurrent public func verify() async throws(VaultError) -> AuditVerdict { try await trail().verdict }

  /// Returns the log as one line of JSON, as `handstamp audit show --json` prints it: `intact`, and `records` with `sequence`, `at`
  /// (RFC 3339) and `atEpoch` (seconds), `action`, `method` of a sign-in, `outcome`, `account`, `address`, `session`, `program`, `process`
  /// and `intact`. What is not known is left out.
  ///
  /// - Throws: As ``entries()`` does.
  @concurrent public func export() async throws(VaultError) -> String { try await trail().json().text }

  /// The folder of the log's files, as an absolute path. They are named after the account, and no program needs to touch them.
  public var folder: String { home.place.path }

  /// Returns the whole log, checked against the vault.
  @concurrent package func trail() async throws(VaultError) -> AuditTrail {
    // Read before the log, so that the log is never the older of the two.
    let head: AuditHead?
    switch await vault.read() {
    case .value(let entry): head = entry.auditHead
    case .absent: head = nil
    // The head is in the part that is locked.
    case .accessOnly: throw .locked
    case .trouble(let trouble): throw trouble
    }
    return try await trail(head: head)
  }

  /// Returns the whole log, checked against a head stored elsewhere.
  @concurrent package func trail(head: AuditHead?) async throws(VaultError) -> AuditTrail {
    guard let folder = try home.place.open() else { return AuditTrail([], head: head) { _ in .none } }
    try await home.key.find()
    guard let key = try home.key.load(for: folder) else {
      let names = try folder.names()
      if names.contains(home.files.audit) || names.contains(home.files.olderAudit) { throw VaultKey.missing }
      return AuditTrail([], head: head) { _ in .none }
    }
    let lock = try await lock(in: folder)
    defer { lock.unlock() }
    let files = files(in: folder, key: key)
    return AuditTrail(try files.contents(), head: head, authenticate: files.authenticate)
  }

  private func writePending() async throws(VaultError) {
    let folder = try home.place.openOrMake()
    try await home.key.find()
    let lock = try await lock(in: folder)
    defer { lock.unlock() }
    let key = try await key(in: folder)
    var files = files(in: folder, key: key)
    // Taken under the lock, so that entries keep their order.
    let (entries, lost) = state.withLock { state in
      defer { (state.pending, state.lost) = ([], 0) }
      return (state.pending, state.lost)
    }
    guard let newest = entries.last else { return }
    files.known = state.withLock { $0.known }
    var all = entries
    if lost > 0 {
      all.insert(
        AuditEntry(action: .log, session: nil, account: nil, at: newest.at, outcome: "lost_\(lost)"), at: 0)
    }
    do throws(VaultError) {
      let head = try files.append(all, at: newest.at)
      state.withLock { $0.durable = head }
      if let head { found(head) }
    } catch {
      state.withLock { $0.wait(entries, lost: lost) }
      throw error
    }
  }

  /// Returns the key, creating it if the log is older than the first vault.
  private func key(in folder: PosixFile) async throws(VaultError) -> SealingKey {
    if let key = try home.key.load(for: folder) { return key }
    let lock = try await VaultFolder.lock(in: folder, within: home.patience)
    defer { lock.unlock() }
    let names = try folder.names()
    home.place.excludeFromBackups(folder, names: names)
    try await home.key.make(for: folder)
    return try home.key.settle(for: folder, isNeeded: VaultFiles.needKey(names))
  }

  private func files(in folder: PosixFile, key: SealingKey) -> AuditFiles {
    AuditFiles(
      folder: folder, names: home.files, key: key.auditKey(for: home.account), writer: writer, half: half)
  }

  private func lock(in folder: PosixFile) async throws(VaultError) -> LockFile {
    let lock = try LockFile(home.files.auditLock, in: folder)
    guard try await lock.take(until: .now + home.patience, pauses: .inQueue) else {
      throw .unavailable("another process keeps the audit log locked")
    }
    return lock
  }
}

private func programName() -> String {
  CommandLine.arguments.first.map { String(lastComponent($0)) } ?? "unknown"
}
