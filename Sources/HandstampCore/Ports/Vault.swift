/// Stores one account's secrets. Only three functions are required; ``changes()`` and ``lockSignIn(within:)`` have defaults.
///
/// A vault may be shared by several processes, so every edit is applied to the entry as stored at that instant, under the
/// vault's own lock, and is durable (file and folder synced) before it is reported as done.
public protocol Vault: Sendable {
  /// Returns the stored entry.
  @concurrent func read() async -> VaultReading

  /// Applies `edit` to the stored entry, in one atomic and durable step.
  @concurrent func edit(_ edit: VaultEdit) async -> VaultOutcome

  /// Acquires the refresh lock of this account, which is held by the one process that refreshes. Waits at most `limit`. The
  /// kernel releases it when the process dies.
  ///
  /// - Throws: ``VaultError/unavailable(_:)`` if the lock could not be acquired in time; the text names the holder, if the
  ///   system reports it, or says why there is no lock at all.
  @concurrent func lock(within limit: Duration) async throws(VaultError) -> any VaultLock

  /// Acquires the sign-in lock of this account, which is held by the one process that exchanges the user's input for tokens,
  /// until they are stored. Otherwise like ``lock(within:)``, which is the default unless a vault has two locks: then a sign-in
  /// waits for a refresh in flight.
  @concurrent func lockSignIn(within limit: Duration) async throws(VaultError) -> any VaultLock

  /// Yields after another process may have changed the vault; may yield too often. Ends with its task.
  func changes() -> AsyncStream<Void>
}

extension Vault {
  /// For a vault that only this process writes to.
  public func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }

  @concurrent public func lockSignIn(within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await lock(within: limit)
  }
}

/// A lock that is held while a refresh, or the exchange of a sign-in, is in flight.
public protocol VaultLock: Sendable {
  func unlock()
}

/// The result of reading a vault. Only ``absent`` means signed out.
public enum VaultReading: Sendable, Hashable {
  case value(VaultEntry)
  /// Confirmed: the vault is empty.
  case absent
  /// The refresh item is locked; the access item was read: the session without refresh token and handle, valid until its access
  /// token expires.
  case accessOnly(StoredSession)
  case trouble(VaultError)
}

/// The result of an edit.
public enum VaultOutcome: Sendable, Hashable {
  /// The edit is durable; the new entry.
  case done(VaultEntry)
  /// The edit's condition was not met, and nothing was written; the stored entry.
  case conflict(VaultEntry)
  /// Nothing was written, or the edit may be lost in a power cut.
  case failed(VaultError)
}
