import Dispatch
public import HandstampCore
import HandstampSupport

/// A passphrase for a folder of vaults. It confirms the user's presence and seals the vault key, so that a copy of the
/// disk alone opens nothing. For systems without a presence check of their own, such as Linux. The module
/// `HandstampKeys` creates it.
///
/// ```swift
/// let passphrase = Passphrase(folder: folder) { question in await prompt(question.reason) }
/// let vault = SealedFileVault(folder: folder, account: account, key: .passphrase(passphrase))
/// let lock = PresenceLock(passphrase, policy: .window(.seconds(300)), reason: "to read your messages")
/// ```
/// Until the passphrase has been entered once, the vaults are ``VaultError/locked``. It is stretched with scrypt (RFC
/// 7914). After five wrong passphrases in a row the next attempt has to wait, in other processes and after a restart as
/// well. An attacker with a copy of the file is limited only by the cost of scrypt, so choose a long passphrase.
public final class Passphrase: UserPresence {
  /// The question put to the user.
  public struct Question: Sendable, Hashable {
    public var reason: String
    /// The reason for asking again, if the previous attempt failed.
    public var failure: PassphraseError?
  }

  /// A key, and the file that is known to hold it.
  private struct Opened: Sendable {
    var key: Secret
    var file: PassphraseFormat.Header
  }

  private struct State: Sendable {
    var key: SealingKey?
    var opened: Opened?
    /// Counts the attempts if the disk cannot be written.
    var tries: PassphraseTries?
  }

  public let folder: String
  private let cost: PassphraseCost
  private let stretch: PassphraseStretch
  private let clock: any SessionClock
  private let ask: @Sendable (Question) async throws -> Secret?
  private let state = Locked(State())
  let listeners = ChangeListeners()

  /// - Parameters:
  ///   - cost: The cost per attempt of a new passphrase; an existing one keeps its own.
  ///   - stretch: The key derivation.
  ///   - ask: Returns the passphrase as typed, or `nil` if the user declines.
  package init(
    folder: String, cost: PassphraseCost, stretch: @escaping PassphraseStretch, clock: any SessionClock,
    ask: @escaping @Sendable (Question) async throws -> Secret?
  ) {
    self.folder = folder
    self.cost = cost
    self.stretch = stretch
    self.clock = clock
    self.ask = ask
  }

  /// Whether the vaults can be read.
  public var isUnlocked: Bool { state.withLock { $0.key != nil } }

  /// Whether a passphrase has been set.
  public func isSet() throws(PassphraseError) -> Bool {
    do throws(VaultError) { return try isStored() } catch { throw .storage(error) }
  }

  /// Forgets the key. The vaults stay locked until the passphrase is entered again.
  public func lock() {
    state.withLock { ($0.key, $0.opened) = (nil, nil) }
    listeners.signal()
  }

  /// Sets the first passphrase, at least 8 characters long, and unlocks. Seals the key file beside the vaults, then
  /// deletes it.
  @concurrent public func set(_ new: Secret) async throws(PassphraseError) {
    try PassphraseText.check(new)
    let lock = try await vaultsLock(making: true)
    defer { lock.unlock() }
    let files = PassphraseFiles(folder: lock.folder)
    guard try files.load() == nil else { throw .alreadySet }
    try await seal(try files.keyToSeal(), with: new, files)
    do throws(VaultError) {
      try await VaultKeyPlace.remove(KeyBesideVaults(lock.folder), keeping: copy, under: lock)
    } catch {
      throw .storage(error)
    }
  }

  /// Unlocks with the passphrase as typed.
  @concurrent public func unlock(with passphrase: Secret) async throws(PassphraseError) {
    unlock(try await open(passphrase))
    try? await removeKeyFile()
  }

  /// Seals the same key with another passphrase. A kill at any instant leaves either the old one or the new one.
  @concurrent public func change(from old: Secret, to new: Secret) async throws(PassphraseError) {
    try PassphraseText.check(new)
    let opened = try await open(old)
    let sealed = try await PassphraseFiles.seal(opened.key, new, cost: cost, stretch: stretch)
    let lock = try await vaultsLock()
    defer { lock.unlock() }
    let files = PassphraseFiles(folder: lock.folder)
    guard try files.load() == opened.file else {
      throw .storage(.unavailable("another process has just replaced the sealed key"))
    }
    try files.replace(by: sealed, under: lock)
    unlock(Opened(key: opened.key, file: sealed))
  }

  /// Asks for the passphrase, at most three times, and unlocks.
  @concurrent public func confirm(_ reason: String) async throws(PresenceError) {
    let refusal: PresenceError?
    do throws(PassphraseError) { refusal = try await unlock(asking: reason) } catch {
      switch error {
      case .storage(let error): throw .unavailable(error.description)
      case .notSet: throw .unavailable("no passphrase has been set")
      default: throw .unavailable("the passphrase cannot be checked: \(error)")
      }
    }
    if let refusal { throw refusal }
  }

  /// Asks for the passphrase, at most three times, and unlocks. Returns why the user did not; `nil` if it is unlocked.
  @concurrent func unlock(asking reason: String) async throws(PassphraseError) -> PresenceError? {
    var failure: PassphraseError?
    for _ in 0..<3 {
      // Checked first: no point in asking during the wait.
      if let wait = lockedOut { return .lockedOut(retryAfter: wait) }
      let typed: Secret?
      do { typed = try await ask(Question(reason: reason, failure: failure)) } catch {
        return error is CancellationError ? .cancelled : .unavailable("asking failed: \(type(of: error))")
      }
      if Task.isCancelled { return .cancelled }
      guard let typed else { return .declined }
      do throws(PassphraseError) {
        try await unlock(with: typed)
        return nil
      } catch {
        switch error {
        case .wrong: failure = error
        case .lockedOut(let wait): return .lockedOut(retryAfter: wait)
        default: throw error
        }
      }
    }
    return .declined
  }

  /// The vault key, or `nil` if there is none yet. Throws ``VaultError/locked`` until the passphrase has been
  /// entered.
  func key() throws(VaultError) -> SealingKey? {
    if let key = state.withLock({ $0.key }) { return key }
    if try isStored() { throw .locked }
    return nil
  }

  /// Yields whenever the lock state changes.
  var changes: AsyncStream<Void> { listeners.subscribe() }

  /// The vault key's bytes, as they were sealed.
  var keyBytes: Secret? { state.withLock { $0.opened?.key } }

  /// Seals a key from another place, and unlocks. Keeps the key file beside the vaults, and a key that is sealed already.
  @concurrent func seal(_ key: Secret, with new: Secret) async throws(PassphraseError) {
    try PassphraseText.check(new)
    try await seal(key, with: new, files(making: true))
  }

  private func seal(_ key: Secret, with new: Secret, _ files: PassphraseFiles) async throws(PassphraseError) {
    guard try files.load() == nil else { throw .alreadySet }
    let sealed = try await PassphraseFiles.seal(key, new, cost: cost, stretch: stretch)
    guard try files.add(sealed) else { throw .alreadySet }
    unlock(Opened(key: key, file: sealed))
  }

  /// Returns the sealed key, if its file is the one that this passphrase has opened.
  func content() throws(VaultError) -> VaultKeyContent {
    guard try isStored() else { return .absent }
    do throws(PassphraseError) {
      guard let file = try files().load() else { return .absent }
      guard let opened = state.withLock({ $0.opened }), opened.file == file else { return .closed }
      return .key(opened.key)
    } catch {
      guard case .storage(let trouble) = error else { return .closed }
      throw trouble
    }
  }

  /// Deletes the sealed key, and locks.
  func removeSealed(_ permission: borrowing VaultKeyRemoval) throws(VaultError) {
    if let folder = try PosixFile.folder(folder) { try PassphraseFiles(folder: folder).remove(permission) }
    lock()
  }

  /// Removes a key file that a process left beside the sealed key when it died. Waits for no other process: the next unlock tries
  /// again.
  private func removeKeyFile() async throws(VaultError) {
    guard let folder = try PosixFile.folder(folder), try folder.open(VaultKeyFile.name, flags: O_RDONLY) != nil else {
      return
    }
    let lock = try await VaultFolder.lock(in: folder, within: .zero)
    defer { lock.unlock() }
    try await VaultKeyPlace.removeFile(besideSealed: copy, under: lock)
  }

  private var copy: PassphraseKey { PassphraseKey(self, reason: "") }

  func isStored() throws(VaultError) -> Bool {
    try PosixFile.folder(folder)?.open(PassphraseFiles.name, flags: O_RDONLY) != nil
  }

  private func unlock(_ opened: Opened) {
    let sealing = opened.key.withExposedBytes(SealingKey.init)
    state.withLock { ($0.key, $0.opened) = (sealing, opened) }
    listeners.signal()
  }

  private var lockedOut: Duration? {
    let now = clock.now()
    let stored = (try? PosixFile.folder(folder)).flatMap { try? PassphraseTriesFile(folder: $0).load(at: now) }
    let wait = max(stored?.remaining(at: now) ?? .zero, state.withLock { $0.tries }?.remaining(at: now) ?? .zero)
    return wait > .zero ? wait : nil
  }

  /// Makes one attempt, while no other process makes one.
  private func open(_ passphrase: Secret) async throws(PassphraseError) -> Opened {
    let files = try files()
    return try await exclusively(in: files) { [self] () throws(PassphraseError) in try open(passphrase, files) }
  }

  /// Makes one attempt, counted beforehand.
  private func open(_ passphrase: Secret, _ files: PassphraseFiles) throws(PassphraseError) -> Opened {
    guard let header = try files.load() else { throw .notSet }
    let now = clock.now()
    let tries = PassphraseTriesFile(folder: files.folder)
    var count = (try? tries.load(at: now)) ?? PassphraseTries(last: now)
    if let own = state.withLock({ $0.tries }), own.failures > count.failures { count = own }
    let wait = count.remaining(at: now)
    if wait > .zero {
      // Counted in another boot: the wait starts again from now.
      if now.elapsed(since: count.last) == nil {
        try? tries.store(PassphraseTries(failures: count.failures, last: now))
      }
      throw .lockedOut(retryAfter: wait)
    }
    count = PassphraseTries(failures: count.failures + 1, last: now)
    // A full disk must not lock the user out, so this process keeps the count in memory.
    let isCounted = (try? tries.store(count)) != nil
    state.withLock { [count] in $0.tries = isCounted ? nil : count }
    let key = try PassphraseText.withBytes(of: passphrase) { bytes throws(PassphraseError) in
      try PassphraseFormat.open(header, with: bytes, stretch: stretch)
    }
    try? tries.forget()
    state.withLock { $0.tries = nil }
    return Opened(key: key, file: header)
  }

  private func files(making: Bool = false) throws(PassphraseError) -> PassphraseFiles {
    do throws(VaultError) {
      guard folder.hasPrefix("/") else { throw .unavailable("the path of the vault folder must be absolute") }
      let opened = making ? try PosixFile.makeFolder(folder) : try PosixFile.folder(folder)
      guard let opened else { throw .unavailable("the vault folder is missing") }
      return PassphraseFiles(folder: opened)
    } catch {
      throw .storage(error)
    }
  }

  /// Takes the lock under which every copy of the key changes.
  private func vaultsLock(making: Bool = false) async throws(PassphraseError) -> VaultsLock {
    let files = try files(making: making)
    do throws(VaultError) { return try await VaultFolder.lock(in: files.folder, within: .seconds(30)) } catch {
      throw .storage(error)
    }
  }

  /// Runs `body` on a thread of its own, under the lock of attempts. It cannot wait, so it takes no other lock: who holds the
  /// vaults' lock may take this one, and the other order does not compile.
  private func exclusively<Result: Sendable>(
    in files: PassphraseFiles, _ body: @escaping @Sendable () throws(PassphraseError) -> Result
  ) async throws(PassphraseError) -> Result {
    let lock: LockFile
    do throws(VaultError) {
      lock = try LockFile("passphrase.lock", in: files.folder)
      guard try await lock.take(until: .now + .seconds(30), pauses: .inQueue) else {
        throw .unavailable("another process keeps the passphrase file locked")
      }
    } catch {
      throw .storage(error)
    }
    defer { lock.unlock() }
    return try await onOwnThread(body)
  }
}

extension Passphrase: Hashable {
  public static func == (left: Passphrase, right: Passphrase) -> Bool { left === right }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Runs `body` on a thread of its own: it takes some tenths of a second, or asks the user, and must not block the shared
/// thread pool of tasks.
func onOwnThread<Answer: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () throws(Failure) -> Answer
) async throws(Failure) -> Answer {
  let result = await withCheckedContinuation { continuation in
    DispatchQueue.global(qos: .userInitiated).async { continuation.resume(returning: Result(catching: body)) }
  }
  return try result.get()
}
