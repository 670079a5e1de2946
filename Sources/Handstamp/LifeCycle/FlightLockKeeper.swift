public import HandstampCore

/// Knows which flight locks this program holds, so that they can be given up before the system suspends it. A program that is
/// suspended with a lock in a group container is ended by iOS (0xDEAD10CC), and would keep its extensions waiting.
///
/// Giving a lock up early loses nothing. A server that keeps rotation keys answers both who ask alike. At one that does not, the
/// ``RefreshAttempt`` in the vault keeps others from presenting the token until its limit has passed.
public final class FlightLockKeeper: Sendable {
  private struct Content: Sendable {
    var held: [UInt64: any FlightLock] = [:]
    var last: UInt64 = 0
    var isSuspended = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }
  private let content = Locked(Content())

  public init() {}

  /// How many locks are held now.
  public var count: Int { content.withLock { $0.held.count } }

  /// Gives all of them up, and hands out none until ``resume()``.
  public func suspend() {
    let (held, waiters) = content.withLock { content in
      content.isSuspended = true
      defer { (content.held, content.waiters) = ([:], []) }
      return (content.held.sorted { $0.key < $1.key }.map(\.value), content.waiters)
    }
    for lock in held { lock.unlock() }
    for waiter in waiters { waiter.resume() }
  }

  /// The program runs again.
  public func resume() { content.withLock { $0.isSuspended = false } }

  /// Returns when no lock is held any more.
  public func idle() async {
    await withCheckedContinuation { continuation in
      let isIdle = content.withLock { content in
        if !content.held.isEmpty { content.waiters.append(continuation) }
        return content.held.isEmpty
      }
      if isIdle { continuation.resume() }
    }
  }

  fileprivate var isSuspended: Bool { content.withLock { $0.isSuspended } }

  /// Keeps `lock`, unless the program is about to be suspended.
  fileprivate func keep(_ lock: any FlightLock) -> (any FlightLock)? {
    let number: UInt64? = content.withLock { content in
      guard !content.isSuspended else { return nil }
      content.last += 1
      content.held[content.last] = lock
      return content.last
    }
    guard let number else {
      lock.unlock()
      return nil
    }
    return Kept(number: number, keeper: self)
  }

  fileprivate func release(_ number: UInt64) {
    let (lock, waiters) = content.withLock { content in
      let lock = content.held.removeValue(forKey: number)
      guard content.held.isEmpty else { return (lock, [CheckedContinuation<Void, Never>]()) }
      defer { content.waiters = [] }
      return (lock, content.waiters)
    }
    lock?.unlock()
    for waiter in waiters { waiter.resume() }
  }

  private final class Kept: FlightLock {
    private let number: UInt64
    private let keeper: FlightLockKeeper

    init(number: UInt64, keeper: FlightLockKeeper) {
      self.number = number
      self.keeper = keeper
    }

    func unlock() { keeper.release(number) }
    deinit { unlock() }
  }
}

extension FlightLockKeeper {
  /// `vault`, with flight locks that can be given up from here.
  public func guarding(_ vault: any Vault) -> some Vault { GuardedVault(vault: vault, keeper: self) }

  private struct GuardedVault: Vault {
    let vault: any Vault
    let keeper: FlightLockKeeper

    @concurrent func read() async -> VaultReading { await vault.read() }
    @concurrent func edit(_ edit: VaultEdit) async -> VaultOutcome { await vault.edit(edit) }
    func changes() -> AsyncStream<Void> { vault.changes() }

    @concurrent func lock(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
      try await kept { () async throws(VaultTrouble) in try await vault.lock(within: limit) }
    }

    @concurrent func lockSignIn(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
      // A sign-in that a link brings to the front may come before the system says so: it goes on without.
      if keeper.isSuspended { return NoLock() }
      return try await kept { () async throws(VaultTrouble) in try await vault.lockSignIn(within: limit) }
    }

    private struct NoLock: FlightLock {
      func unlock() {}
    }

    private func kept(
      _ lock: () async throws(VaultTrouble) -> any FlightLock
    ) async throws(VaultTrouble) -> any FlightLock {
      guard !keeper.isSuspended, let lock = keeper.keep(try await lock()) else {
        throw .unavailable("the program is being suspended")
      }
      return lock
    }
  }
}
