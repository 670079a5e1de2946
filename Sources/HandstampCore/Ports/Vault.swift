/// Keeps one account's secrets. Three functions make a vault; ``changes()`` and ``lockSignIn(within:)`` may be left out.
///
/// A vault may be shared by several processes, so every edit is applied to what is stored at that instant, under the
/// vault's own lock, and is durable (file and folder synced) before it is reported as done.
public protocol Vault: Sendable {
  /// What is stored now.
  @concurrent func read() async -> VaultReading

  /// Applies `edit` to what is stored, in one atomic and durable step.
  @concurrent func edit(_ edit: VaultEdit) async -> VaultOutcome

  /// The flight lock of this account: held by the one process that refreshes. Waits at most `limit`. The kernel gives it back
  /// when the process dies.
  ///
  /// - Throws: ``VaultTrouble/unavailable(_:)`` when it could not be taken by then; the text names who holds it, where the system
  ///   tells, or says why there is no lock at all.
  @concurrent func lock(within limit: Duration) async throws(VaultTrouble) -> any FlightLock

  /// The sign-in lock of this account: held by the one process that exchanges what a person has entered for tokens, until they
  /// are stored. Otherwise like ``lock(within:)``, which stands in for it unless a vault has two: then a sign-in waits for a
  /// refresh that is in flight.
  @concurrent func lockSignIn(within limit: Duration) async throws(VaultTrouble) -> any FlightLock

  /// Yields after another process may have changed the vault; may yield too often. Ends with its task.
  func changes() -> AsyncStream<Void>
}

extension Vault {
  /// A vault that nobody else writes to.
  public func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }

  @concurrent public func lockSignIn(within limit: Duration) async throws(VaultTrouble) -> any FlightLock {
    try await lock(within: limit)
  }
}

/// Held while a refresh, or the exchange of a sign-in, is in flight.
public protocol FlightLock: Sendable {
  func unlock()
}

/// What a vault says when it is read. Only ``absent`` means that nobody is signed in.
public enum VaultReading: Sendable, Hashable {
  case value(VaultEntry)
  /// Confirmed: there is nothing.
  case absent
  /// The refresh item is locked; the access item could be read and serves until it ends.
  case accessOnly(SessionID, Profile, StoredAccess)
  case trouble(VaultTrouble)
}

/// The answer to an edit.
public enum VaultOutcome: Sendable, Hashable {
  /// The edit holds, durably; this is what is stored now.
  case done(VaultEntry)
  /// The edit's condition was not met; nothing was written; this is what is stored.
  case conflict(VaultEntry)
  /// Nothing was written, or it may be lost at the next power cut.
  case failed(VaultTrouble)
}
