/// Stores the entry of one account: a small store with compare-and-swap. The rules of sessions are elsewhere; a vault knows none.
///
/// Several processes may share a vault. Each reads the entry, decides, and replaces it; of two that do so at once, the second one
/// loses and decides again.
public protocol Vault: Sendable {
  /// Returns the stored entry. One without content is ``VaultReading/absent``, or an empty entry with its revision: the revisions
  /// of a vault never begin again.
  @concurrent func load() async -> VaultReading

  /// Replaces the stored entry with `entry` if its revision is still `revision`, which is zero where nothing was ever stored. On
  /// return the entry is durable, file and folder synced. An entry of that same revision changes nothing, but what is stored becomes
  /// durable; as ``VaultWrite/signOut`` it still erases corrupt content, and what was set aside.
  ///
  /// Where the content is corrupt, a write that may replace it, see ``VaultWrite/replacesCorruptContent``, is called with revision
  /// zero. A vault that still knows the last revision returns ``VaultReplacement/lost(_:)`` with an empty entry of it, and is
  /// called again with that.
  ///
  /// Cancelling the task does not end the wait for other writers: a sign-out must be stored.
  ///
  /// - Returns: ``VaultReplacement/lost(_:)`` if another revision is stored; then nothing was written.
  /// - Throws: ``VaultError`` if nothing was written, or if the write may be lost in a power cut.
  @concurrent func replace(
    _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement

  /// Acquires one of the account's two locks, which are independent of each other and of ``replace(_:with:as:)``. Waits at most
  /// `limit`; cancelling the task ends the wait. The kernel releases a lock when its process dies.
  ///
  /// - Throws: ``VaultError/unavailable(_:)`` if the lock could not be acquired in time; the text names the holder, if the
  ///   system reports it, or says why there is no lock at all.
  @concurrent func lock(_ kind: VaultLockKind, within limit: Duration) async throws(VaultError) -> any VaultLock

  /// Yields after another process may have changed the vault; may yield too often. Ends with its task. A vault that only this
  /// process writes to returns a stream that has finished.
  func changes() -> AsyncStream<Void>
}

/// The two locks of an account.
public enum VaultLockKind: String, Sendable, Hashable, CaseIterable {
  /// Held by the one process that refreshes.
  case refresh
  /// Held by the one process that exchanges the user's input for tokens, until they are stored.
  case signIn = "sign-in"
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

/// The purpose of a write, for vaults that keep room for some of them, set corrupt content aside, or protect items by level. Other
/// vaults ignore it.
public enum VaultWrite: Sendable, Hashable, CaseIterable {
  case ordinary
  /// A session begins, at the vault's own level of protection.
  case begin
  /// A request follows that must not be repeated: its response needs room, or it is not sent.
  case attempt
  /// The entry cannot be had again, such as the response to an attempt: the write may use the room.
  case response
  /// The session ends: its secrets must go even if the new entry cannot be written, unless that has a session as well: a late sign-out
  /// spares a newer one. May use the room, too.
  case end
  /// As ``end``, by the user: what was set aside is erased as well.
  case signOut

  /// Whether corrupt content, which is no entry, may be set aside for this write.
  public var replacesCorruptContent: Bool { self == .begin || self == .signOut }
  /// Whether the session's secrets must go in any case.
  public var endsSession: Bool { self == .end || self == .signOut }
}

/// The result of replacing an entry.
public enum VaultReplacement: Sendable, Hashable {
  /// The new entry is stored, durably.
  case done
  /// Another revision is stored; the entry of that revision, or `nil` to have it loaded.
  case lost(VaultEntry?)
}

/// The result of an edit.
package enum VaultOutcome: Sendable, Hashable {
  /// The edit is durable; the new entry.
  case done(VaultEntry)
  /// The edit's condition was not met, and nothing was written; the stored entry.
  case conflict(VaultEntry)
  /// The edit was not written, or may be lost in a power cut.
  case failed(VaultError)

  /// Returns the same outcome with a new value for its entry, if it has one.
  package func mapEntry<Failure: Error>(
    _ transform: (VaultEntry) throws(Failure) -> VaultEntry
  ) throws(Failure) -> VaultOutcome {
    switch self {
    case .done(let entry): .done(try transform(entry))
    case .conflict(let entry): .conflict(try transform(entry))
    case .failed: self
    }
  }
}

extension Vault {
  /// Returns the stored entry. One without content is absent.
  ///
  /// - Parameter audit: is told its progress as far as the entry knows it, and detects by it that records were cut off.
  @concurrent package func read(noting audit: (any AuditLog)? = nil) async -> VaultReading {
    let reading = await load()
    guard case .value(let entry) = reading else { return reading }
    if entry.isEmpty { return .absent }
    if let head = entry.auditHead { audit?.found(head) }
    return reading
  }

  /// Applies `edit` to the stored entry, in one atomic and durable step: again, if another process was faster.
  ///
  /// - Parameter audit: its progress is stored with what the edit writes, and never goes back. It is told as by ``read(noting:)``.
  @concurrent package func edit(_ edit: VaultEdit, noting audit: (any AuditLog)? = nil) async -> VaultOutcome {
    do throws(VaultError) {
      var entry = try await load().entry(for: edit.write)
      for _ in 0..<VaultEdit.patience {
        if let head = entry.auditHead { audit?.found(head) }
        var new = entry
        switch edit.applied(to: entry) {
        case .conflict: return .conflict(entry)
        case .unchanged: break
        case .write(let written):
          new = written
          if let head = audit?.head, head.sequence > entry.auditHead?.sequence ?? 0 { new.auditHead = head }
        }
        switch try await replace(entry.revision, with: new, as: edit.write) {
        case .done:
          if let head = new.auditHead { audit?.found(head) }
          return .done(new)
        case .lost(let found?): entry = found
        case .lost(nil): entry = try await load().entry(for: edit.write)
        }
      }
      throw .unavailable("other programs write to the vault all the time")
    } catch {
      return .failed(error)
    }
  }
}

extension VaultReading {
  /// Returns the entry that a write replaces: an empty one for none, and for corrupt content that it may replace.
  package func entry(for write: VaultWrite) throws(VaultError) -> VaultEntry {
    switch self {
    case .value(let entry): return entry
    case .absent: return VaultEntry()
    case .accessOnly: throw .locked
    case .trouble(.corrupt) where write.replacesCorruptContent: return VaultEntry()
    case .trouble(let trouble): throw trouble
    }
  }
}
