public import HandstampCore

/// The storage of the list of sessions. `checkRegistryStore` in HandstampTesting checks an implementation.
public protocol RegistryStore: Sendable {
  /// Makes all changes and stores all events, each in order; or does nothing and throws.
  ///
  /// The write is durable when the method returns. If it throws ``RegistryStoreError/unavailable(_:)``, the write may or may
  /// not have taken place; after any other error it did not.
  @concurrent func write(_ changes: [RegistryChange], events: [RegistryEvent]) async throws(RegistryStoreError)

  /// Reads a session, asks `decide` what to write, and writes that like ``write(_:events:)``. Returns the decision's value.
  ///
  /// A store that can do this in one step does, so that nothing changes the session in between. Another one reads and then
  /// writes: state the revisions that the changes expect, and call again after ``RegistryStoreError/conflict``.
  ///
  /// - Parameter decide: called with the session, or with `nil` if there is none; and with the time of the store's own clock, which
  ///   all servers at the store share, or with `nil` if it has no other clock than its one server. It must not wait, may be called
  ///   more than once, and may decide to write nothing.
  @concurrent func change<Value: Sendable>(
    _ session: SessionBytes, _ decide: @escaping @Sendable (SessionRow?, UnixTime?) -> Decision<Value>
  ) async throws(RegistryStoreError) -> Value

  /// Returns the session with that ID, ended or not, or `nil` if there is none.
  @concurrent func session(_ id: SessionID) async throws(RegistryStoreError) -> SessionRow?

  /// Returns the sessions of an account that were not ended, the oldest first. Some may have expired already.
  @concurrent func sessions(of account: AccountID) async throws(RegistryStoreError) -> [SessionRow]

  /// Returns the sessions of an account that were ended and not deleted yet, the oldest first.
  @concurrent func endedSessions(of account: AccountID) async throws(RegistryStoreError) -> [SessionRow]

  /// Returns at most `limit` sessions that were not ended and whose expiry is `now` or earlier, the most overdue first.
  @concurrent func expired(at now: UnixTime, limit: Int) async throws(RegistryStoreError) -> [SessionRow]

  @concurrent func account(_ id: AccountID) async throws(RegistryStoreError) -> AccountRecord?

  /// Returns the account whose address has that ``EmailAddress/normalized`` form.
  @concurrent func account(email normalized: String) async throws(RegistryStoreError) -> AccountRecord?

  /// Returns the account with that identity.
  @concurrent func account(identity: ExternalIdentity) async throws(RegistryStoreError) -> AccountRecord?

  /// Returns the one-time token with that ID, or `nil` if there is none.
  @concurrent func oneTimeToken(_ id: OneTimeTokenID) async throws(RegistryStoreError) -> OneTimeTokenRecord?

  @concurrent func item(_ id: StoredItemID) async throws(RegistryStoreError) -> StoredItem?

  /// Returns the items of that kind and subject, the oldest first.
  @concurrent func items(_ kind: StoredItem.Kind, subject: String) async throws(RegistryStoreError) -> [StoredItem]

  /// Returns at most `limit` items of that kind whose ``StoredItem/dueAt`` is `now` or earlier, the most overdue first.
  @concurrent func dueItems(
    _ kind: StoredItem.Kind, at now: UnixTime, limit: Int
  ) async throws(RegistryStoreError) -> [StoredItem]

  /// Returns at most `limit` items of that kind in the order of their IDs: those after `id`, or the first ones.
  @concurrent func items(
    _ kind: StoredItem.Kind, after id: StoredItemID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredItem]

  /// Returns at most `limit` accounts in the order of their IDs, closed and deleted ones too: those after `id`, or the first
  /// ones.
  @concurrent func accounts(after id: AccountID?, limit: Int) async throws(RegistryStoreError) -> [AccountRecord]

  /// Returns at most `limit` entries of the audit log after the one with that ID, in order.
  ///
  /// - Parameter account: returns only those about this account; `nil` returns all.
  @concurrent func auditedActions(
    after id: Int64, about account: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredAuditedAction]

  /// Returns at most `limit` entries of the audit log about an account, the newest first: those before the one with that ID, or
  /// the last ones.
  @concurrent func latestAuditedActions(
    about account: AccountID, before id: Int64?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredAuditedAction]

  /// Counts the live sessions that were last refreshed at that time or before, and those that began then or before; with `nil`,
  /// all of them.
  @concurrent func liveSessions(upTo time: UnixTime?) async throws(RegistryStoreError) -> (refreshed: Int, begun: Int)

  /// Counts the sessions that clients other than the server's own app have and that were not ended, by `client_id`.
  @concurrent func clientSessions() async throws(RegistryStoreError) -> [String: Int]

  /// Counts the rows of the store. It may take long on a large one.
  @concurrent func counts() async throws(RegistryStoreError) -> RegistryCounts

  /// Deletes at most `limit` of each kind that `retention` covers: the oldest events and audited actions, ended sessions, expired
  /// one-time tokens and expired items; reduces as many old addresses of the audit log to networks, which do not count; with the last session of a guest account that is not closed also the account, because
  /// there is no way into it any more. Never deletes a session that was not ended. Returns how many were deleted; 0 means that none are left to delete.
  @concurrent func prune(_ retention: Retention, limit: Int) async throws(RegistryStoreError) -> Int

  /// Returns at most `limit` events after the one with that ID, in order; those of one account, or of all if `account` is
  /// `nil`.
  @concurrent func events(
    after id: EventID, account: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredEvent]

  /// Returns the last ``RegistryChange/noteClock(_:)``, or `nil` if there has been none.
  @concurrent func clockNote() async throws(RegistryStoreError) -> ClockNote?

  /// Returns the ID of the newest event, or ``EventID/zero`` if there has never been one.
  @concurrent func lastEventID() async throws(RegistryStoreError) -> EventID

  /// The damage that a read or write has met since the opening; `nil` if none has. Other calls may still succeed.
  var damage: String? { get }

  /// Begins to listen for events that other servers store. `nil` if the store does not tell of them: then servers look for new
  /// events twice a second.
  func news() -> StoreNews?

  /// How often another copy of the contents has taken their place since the store was opened, as a restored one does: the IDs of
  /// events then belong to others.
  var replacements: Int { get }
}

/// The result of a use case, and the write that makes it true. `Registry` decides, its store writes.
public struct Decision<Value: Sendable>: Sendable {
  public var value: Value
  public var changes: [RegistryChange]
  public var events: [RegistryEvent]

  public init(_ value: Value, _ changes: [RegistryChange] = [], events: [RegistryEvent] = []) {
    self.value = value
    self.changes = changes
    self.events = events
  }

  /// Whether there is nothing to write.
  public var isEmpty: Bool { changes.isEmpty && events.isEmpty }
}

/// One part of a write. The stored revision is the one that the case specifies, not the one in the row or record.
public enum RegistryChange: Sendable, Hashable {
  /// Creates a session. Fails with `alreadyExists` if its ID is taken, or, unless it is pending, if the same device has a session of the
  /// same account that was not ended and is not pending; with `notFound` if the account does not exist. Stored with revision 0.
  case createSession(SessionRow)
  /// Replaces a session. Fails with `notFound` if it does not exist, with `conflict` if its revision is not the expected one, with
  /// `alreadyExists` like ``createSession(_:)``.
  /// Stored with revision `expecting + 1`. Account and creation time never change.
  case replaceSession(SessionRow, expecting: Int64)
  /// Ends a session, whatever its revision, so that constant writes cannot keep it alive. Fails with `notFound` if it does not
  /// exist, with `conflict` if it was ended before. Removes the push token, increments the revision and changes nothing else.
  case endSession(SessionID, SessionEnd)
  /// Creates an account. Fails with `alreadyExists` if its ID, address or identity is taken. Stored with revision 0.
  case createAccount(AccountRecord)
  /// Replaces an account. Fails with `notFound` if it does not exist, with `conflict` if its revision is not the expected one,
  /// with `alreadyExists` if another account has its new address or identity. Stored with revision `expecting + 1`.
  case replaceAccount(AccountRecord, expecting: Int64)
  /// Creates a one-time token. Fails with `alreadyExists` if its ID is taken.
  case createOneTimeToken(OneTimeTokenRecord)
  /// Deletes a one-time token. Fails with `notFound` if it does not exist, for example because it was used concurrently.
  case redeemOneTimeToken(OneTimeTokenID)
  /// Deletes all one-time tokens of that purpose and subject. Never fails.
  case voidOneTimeTokens(OneTimeTokenRecord.Purpose, subject: String)
  /// Creates an item. Fails with `alreadyExists` if its ID is taken. Stored with revision 0.
  case createItem(StoredItem)
  /// Replaces an item. Fails with `notFound` if it does not exist, with `conflict` if its revision is not the expected one. Stored
  /// with revision `expecting + 1`. Kind, subject and creation time never change.
  case replaceItem(StoredItem, expecting: Int64)
  /// Creates an item, or replaces one whatever its revision. Kind, subject and creation time never change. Never fails.
  case putItem(StoredItem)
  /// Deletes an item unless its revision has changed. Fails like ``replaceItem(_:expecting:)``.
  case removeItem(StoredItem)
  /// Deletes all items of that kind and subject. Never fails.
  case removeItems(StoredItem.Kind, subject: String)
  /// Erases what all sessions of an account, ended ones too, know about their devices: ID, name, platform and push token. Every
  /// session of the account must have ended. Never fails.
  case eraseDevices(of: AccountID)
  /// Appends to the audit log. Never fails.
  case audit(AuditedAction)
  /// Changes nothing. Fails with `notFound` if the account does not exist, with `conflict` if its revision is not the expected
  /// one: a decision about an account holds only while the account is unchanged.
  case expectAccount(AccountID, revision: Int64)
  /// Changes nothing. Fails with `notFound` if the session does not exist, with `conflict` if it was ended: what a session allows
  /// holds only while it lasts.
  case expectSession(SessionID)
  /// Replaces the clock note. Fails with `conflict` unless its revision is the one after that of the stored note, see
  /// ``ClockNote/revision(after:)``.
  case noteClock(ClockNote)
  /// Moves times in the span: in sessions that were not ended, creation, rotation and last use, and the absolute expiry along
  /// with the creation; in one-time tokens and items that were created in it, all times. Increments the revision of changed sessions and items.
  /// Never fails.
  case moveTimes(TimeShift)
}

/// A failed operation of a store. The first three are results for the caller to handle, the last is a failure of the store.
public enum RegistryStoreError: Error, Sendable, Hashable {
  /// The item to create already exists.
  case alreadyExists
  /// The item to replace has changed.
  case conflict
  /// The item to replace, or the account of a new session, does not exist.
  case notFound
  /// The store cannot be read or written at the moment. The text says why, without any secret.
  case unavailable(String)
}
