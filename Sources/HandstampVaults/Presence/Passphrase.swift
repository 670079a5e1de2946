import Dispatch
public import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A passphrase for a folder of vaults: it shows that its owner is there, and it seals the vaults' key, so that who has the
/// disk has nothing. For systems that have nothing better of their own, such as Linux.
///
/// ```swift
/// let passphrase = Passphrase(folder: folder) { question in await prompt(question.reason) }
/// let vault = SealedFileVault(folder: folder, account: account, key: .passphrase(passphrase))
/// let lock = PresenceLock(passphrase, policy: .window(.seconds(300)), reason: "to read your messages")
/// ```
/// Until it was given once, the vaults are ``VaultTrouble/locked``. It is stretched with scrypt (RFC 7914). After five wrong
/// ones in a row the next is looked at after a wait, also by other processes and after a restart; whoever copies the
/// file can try as fast as scrypt lets them, so a good passphrase is a long one.
public final class Passphrase: UserPresence {
  /// What a person is asked.
  public struct Question: Sendable, Hashable {
    public var reason: String
    /// Why they are asked again.
    public var failure: PassphraseError?
  }

  private struct State: Sendable {
    var key: SealingKey?
    var bytes: Secret?
    /// Counts where the disk takes no writes.
    var tries: PassphraseTries?
  }

  public let folder: String
  private let cost: PassphraseCost
  private let clock: any SessionClock
  private let ask: @Sendable (Question) async throws -> Secret?
  private let state = Locked(State())
  let listeners = ChangeListeners()

  /// The passphrase of the vaults in `folder`. Nothing is read or made until it is used.
  ///
  /// - Parameters:
  ///   - cost: what a new one costs per try; one that was set keeps its own.
  ///   - ask: brings what the person types; nothing when they will not.
  public init(
    folder: String, cost: PassphraseCost = .standard, clock: any SessionClock = SystemClock(),
    ask: @escaping @Sendable (Question) async throws -> Secret? = { _ in nil }
  ) {
    self.folder = folder
    self.cost = cost
    self.clock = clock
    self.ask = ask
  }

  /// Whether the vaults can be read.
  public var isUnlocked: Bool { state.withLock { $0.key != nil } }

  /// Whether one has been set.
  public func isSet() throws(PassphraseError) -> Bool {
    do throws(VaultTrouble) { return try isStored() } catch { throw .storage(error) }
  }

  /// Forgets the key: the vaults are locked until the passphrase is given again.
  public func lock() {
    state.withLock { ($0.key, $0.bytes) = (nil, nil) }
    listeners.signal()
  }

  /// Sets the first one, at least 8 characters long, and unlocks. A key file beside the vaults is sealed, and goes.
  @concurrent public func set(_ new: Secret) async throws(PassphraseError) {
    try PassphraseText.check(new)
    try await exclusively(making: true) { files throws(PassphraseError) in
      guard try files.load() == nil else { throw .alreadySet }
      let key = try files.keyToSeal()
      try await files.store(key, new, cost: cost)
      try files.removeKeyFile()
      unlock(key)
    }
  }

  /// Takes what a person typed, and unlocks.
  @concurrent public func unlock(with passphrase: Secret) async throws(PassphraseError) {
    try await exclusively { files throws(PassphraseError) in
      let key = try await open(passphrase, files)
      // Left over by a process that died while it set the passphrase.
      try? files.removeKeyFile(ifItHolds: key)
      unlock(key)
    }
  }

  /// Seals the same key with another one. A kill at any instant leaves the old one or the new one.
  @concurrent public func change(from old: Secret, to new: Secret) async throws(PassphraseError) {
    try PassphraseText.check(new)
    try await exclusively { files throws(PassphraseError) in
      let key = try await open(old, files)
      try await files.store(key, new, cost: cost)
      unlock(key)
    }
  }

  /// Asks for it, three times at most, and unlocks.
  @concurrent public func confirm(_ reason: String) async throws(PresenceError) {
    var failure: PassphraseError?
    for _ in 0..<3 {
      // Nobody types in vain.
      if let wait = lockedOut { throw .lockedOut(retryAfter: wait) }
      let typed: Secret?
      do { typed = try await ask(Question(reason: reason, failure: failure)) } catch {
        throw error is CancellationError ? .cancelled : .unavailable("asking failed: \(type(of: error))")
      }
      if Task.isCancelled { throw .cancelled }
      guard let typed else { throw .declined }
      do throws(PassphraseError) { return try await unlock(with: typed) } catch {
        switch error {
        case .wrong: failure = error
        case .lockedOut(let wait): throw .lockedOut(retryAfter: wait)
        case .storage(.unavailable(let why)): throw .unavailable(why)
        case .notSet: throw .unavailable("no passphrase has been set")
        default: throw .unavailable("the passphrase cannot be checked: \(error)")
        }
      }
    }
    throw .declined
  }

  /// The vaults' key; nothing when there is none yet. Without the passphrase the vaults are locked.
  func key() throws(VaultTrouble) -> SealingKey? {
    if let key = state.withLock({ $0.key }) { return key }
    if try isStored() { throw .locked }
    return nil
  }

  /// Yields after every change of the lock.
  var changes: AsyncStream<Void> { listeners.stream() }

  /// The same as it was sealed.
  var keyBytes: Secret? { state.withLock { $0.bytes } }

  /// Seals a key that comes from elsewhere, and unlocks. A key file beside the vaults stays.
  @concurrent func seal(_ key: Secret, with new: Secret) async throws(PassphraseError) {
    try PassphraseText.check(new)
    try await exclusively(making: true) { files throws(PassphraseError) in
      guard try files.load() == nil else { throw .alreadySet }
      try await files.store(key, new, cost: cost)
      unlock(key)
    }
  }

  /// Takes the sealed key away, and locks.
  @concurrent func removeSealed() async throws(PassphraseError) {
    try await exclusively { files throws(PassphraseError) in try files.remove() }
    lock()
  }

  func isStored() throws(VaultTrouble) -> Bool {
    try PosixFile.folder(folder)?.open(PassphraseFiles.name, flags: O_RDONLY) != nil
  }

  private func unlock(_ key: Secret) {
    let sealing = key.withExposedBytes(SealingKey.init)
    state.withLock { ($0.key, $0.bytes) = (sealing, key) }
    listeners.signal()
  }

  private var lockedOut: Duration? {
    let now = clock.now()
    let stored = (try? PosixFile.folder(folder)).flatMap { try? PassphraseTriesFile(folder: $0).load(at: now) }
    let wait = max(stored?.remaining(at: now) ?? .zero, state.withLock { $0.tries }?.remaining(at: now) ?? .zero)
    return wait > .zero ? wait : nil
  }

  /// One try, counted before it is made.
  private func open(_ passphrase: Secret, _ files: PassphraseFiles) async throws(PassphraseError) -> Secret {
    guard let header = try files.load() else { throw .notSet }
    let now = clock.now()
    let tries = PassphraseTriesFile(folder: files.folder)
    var count = (try? tries.load(at: now)) ?? PassphraseTries(last: now)
    if let own = state.withLock({ $0.tries }), own.failures > count.failures { count = own }
    let wait = count.remaining(at: now)
    if wait > .zero {
      // Of another boot: the wait is measured from now on.
      if now.elapsed(since: count.last) == nil {
        try? tries.store(PassphraseTries(failures: count.failures, last: now))
      }
      throw .lockedOut(retryAfter: wait)
    }
    count = PassphraseTries(failures: count.failures + 1, last: now)
    // A disk that is full must not lock anybody out: then this process counts alone.
    let isCounted = (try? tries.store(count)) != nil
    state.withLock { [count] in $0.tries = isCounted ? nil : count }
    let key = try await derived { () throws(PassphraseError) in
      try PassphraseText.withBytes(of: passphrase) { bytes throws(PassphraseError) in
        try PassphraseFormat.open(header, with: bytes)
      }
    }
    try? tries.forget()
    state.withLock { $0.tries = nil }
    return key
  }

  private func exclusively(
    making: Bool = false, _ body: (PassphraseFiles) async throws(PassphraseError) -> Void
  ) async throws(PassphraseError) {
    let files: PassphraseFiles
    let lock: LockFile
    do throws(VaultTrouble) {
      guard folder.hasPrefix("/") else { throw .unavailable("the path of a vault's folder must be absolute") }
      let opened = making ? try PosixFile.makeFolder(folder) : try PosixFile.folder(folder)
      guard let opened else { throw .unavailable("the vault's folder is missing") }
      files = PassphraseFiles(folder: opened)
      lock = try LockFile(PassphraseFiles.lock, in: opened)
      guard try await lock.take(until: .now + .seconds(30), pauses: .inQueue) else {
        throw .unavailable("another process does not let go of the passphrase")
      }
    } catch {
      throw .storage(error)
    }
    defer { lock.unlock() }
    try await body(files)
  }
}

extension Passphrase: Hashable {
  public static func == (left: Passphrase, right: Passphrase) -> Bool { left === right }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Runs `body` on a thread of its own: it takes some tenths of a second, and the few that tasks share are needed by others.
func derived<Result: Sendable>(
  _ body: @escaping @Sendable () throws(PassphraseError) -> Result
) async throws(PassphraseError) -> Result {
  let result = await withCheckedContinuation { continuation in
    DispatchQueue.global(qos: .userInitiated).async {
      let result: Swift.Result<Result, PassphraseError>
      do throws(PassphraseError) { result = .success(try body()) } catch { result = .failure(error) }
      continuation.resume(returning: result)
    }
  }
  return try result.get()
}
