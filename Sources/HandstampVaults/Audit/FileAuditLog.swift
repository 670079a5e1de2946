import Crypto
public import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// An audit log in a file beside a vault's own: JSON lines for people and programs to read, for their owner alone (mode
/// 0600). Several processes may write to it.
///
/// Every line names the one before it and carries a code (HMAC-SHA-256) under a key that is derived from the vault's: who
/// can write the file, and cannot read the key, can change nothing unseen. The newest line joins the vault at its next edit,
/// so that a cut is found as well. See ``trail()`` for what is found, and how.
///
/// - The log never stops a session. What cannot be written now (a full disk, a locked key) waits in memory, at most
///   256 entries, and is written with the next; if entries are lost, the log says how many.
/// - It is bounded: the older half goes when the newer one is full, and a line says so.
/// - A line that a killed program did not finish is set aside (`….audit-torn`) and noted.
public final class FileAuditLog: AuditLog {
  private struct State: Sendable {
    var pending: [AuditEntry] = []
    var lost = 0
    /// The newest record that this process has seen to be there.
    var known: AuditHead?
    /// The newest record that is durable.
    var durable: AuditHead?
    var trouble: VaultTrouble?

    /// Puts entries that could not be written back before those that came since.
    mutating func wait(_ entries: [AuditEntry], lost count: Int) {
      pending = entries + pending
      lost += count
      bound()
    }

    /// The oldest go first.
    mutating func bound() {
      let surplus = max(0, pending.count - 256)
      pending.removeFirst(surplus)
      lost += surplus
    }
  }

  private let vault: SealedFileVault
  private let writer: AuditWriter
  private let half: Int
  private let state = Locked(State())

  /// The log of `vault`'s account. Nothing is read or made until it is used.
  ///
  /// - Parameters:
  ///   - program: what the log calls this program; by default its file's name.
  ///   - limit: how many bytes the log may take on the disk, about; at least 32 KiB.
  public init(_ vault: SealedFileVault, program: String? = nil, limit: Int = 1 << 20) {
    self.vault = vault
    writer = AuditWriter(program: program ?? programName(), process: Int64(getpid()))
    half = max(limit, 32 << 10) / 2
  }

  public var head: AuditHead? { state.withLock { $0.durable } }

  /// What keeps the log from being written, if anything does. Entries wait meanwhile.
  public var trouble: VaultTrouble? { state.withLock { $0.trouble } }

  public func found(_ stored: AuditHead) {
    state.withLock { state in
      if stored.sequence > state.known?.sequence ?? 0 { state.known = stored }
    }
  }

  /// Returns when the entry is on the disk, or waits for the next try.
  @concurrent public func record(_ entry: AuditEntry) async {
    state.withLock {
      $0.pending.append(entry); $0.bound()
    }
    var trouble: VaultTrouble?
    do throws(VaultTrouble) { try await writePending() } catch { trouble = error }
    state.withLock { [trouble] in $0.trouble = trouble }
  }

  /// Everything in the log, and what checking it against the vault came to.
  ///
  /// | what was done | what is found |
  /// |---|---|
  /// | a byte changed, a line taken out, doubled, moved or written without the key | ``AuditTrail/Verdict/broken(at:_:)`` |
  /// | lines cut from the end, up to the head that the vault has | ``AuditTrail/Verdict/cut(after:head:)`` |
  /// | the older part or all of it removed | one of the two |
  /// | lines cut from the end that no edit of the vault had followed yet | nothing |
  ///
  /// - Throws: what keeps the vault or its key from being read; without them nothing can be checked.
  @concurrent package func trail() async throws(VaultTrouble) -> AuditTrail {
    // Before the log: that one is never behind.
    let head: AuditHead?
    switch await vault.read() {
    case .value(let entry): head = entry.auditHead
    case .absent, .accessOnly: head = nil
    case .trouble(let trouble): throw trouble
    }
    return try await trail(head: head)
  }

  /// The same, against a head that was kept elsewhere.
  @concurrent package func trail(head: AuditHead?) async throws(VaultTrouble) -> AuditTrail {
    guard let folder = try vault.place.open() else { return AuditTrail([], head: head) { _ in .none } }
    try await vault.key.find()
    guard let key = try vault.key.load(for: folder) else {
      let isThere = try folder.open(vault.files.audit, flags: O_RDONLY) != nil
      if isThere { throw VaultKey.missing }
      return AuditTrail([], head: head) { _ in .none }
    }
    let lock = try await lock(in: folder)
    defer { lock.unlock() }
    let files = files(in: folder, key: key)
    return AuditTrail(try files.contents(), head: head, authenticate: files.authenticate)
  }

  private func writePending() async throws(VaultTrouble) {
    let folder = try vault.place.openOrMake()
    try await vault.key.find()
    let lock = try await lock(in: folder)
    defer { lock.unlock() }
    let key = try key(in: folder)
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
    do throws(VaultTrouble) {
      let head = try files.append(all, at: newest.at)
      state.withLock { $0.durable = head }
      if let head { found(head) }
    } catch {
      state.withLock { $0.wait(entries, lost: lost) }
      throw error
    }
  }

  /// The log may come before the first vault, and with it the key.
  private func key(in folder: PosixFile) throws(VaultTrouble) -> SealingKey {
    if let key = try vault.key.load(for: folder) { return key }
    let isNeeded = try folder.names().contains {
      $0.hasSuffix(VaultFiles.vaultEnding) || $0.hasSuffix(VaultFiles.auditEnding)
    }
    return try vault.key.settle(for: folder, isNeeded: isNeeded)
  }

  private func files(in folder: PosixFile, key: SealingKey) -> AuditFiles {
    AuditFiles(
      folder: folder, names: vault.files, key: key.auditKey(for: vault.account), writer: writer, half: half)
  }

  private func lock(in folder: PosixFile) async throws(VaultTrouble) -> LockFile {
    let lock = try LockFile(vault.files.auditLock, in: folder)
    guard try await lock.take(until: .now + vault.patience, pauses: .inQueue) else {
      throw .unavailable("another process does not let go of the audit log")
    }
    return lock
  }
}

private func programName() -> String {
  CommandLine.arguments.first.map { String(lastComponent($0)) } ?? "unknown"
}
