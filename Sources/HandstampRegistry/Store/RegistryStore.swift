public import HandstampCore

/// Where the list of sessions lives. `checkRegistryStore` of HandstampTesting says whether one keeps its promises.
public protocol RegistryStore: Sendable {
  /// Makes all of the changes, in their order, and stores the events, in theirs; or does nothing and throws.
  ///
  /// Durable before it returns. When it throws ``RegistryStoreError/unavailable(_:)`` nobody knows whether it took place;
  /// after any other error it did not.
  @concurrent func write(_ changes: [RegistryChange], events: [RegistryEvent]) async throws(RegistryStoreError)
    -> [StoredEvent]

  /// The session of that id, ended or not; nothing when there is none.
  @concurrent func session(_ id: SessionID) async throws(RegistryStoreError) -> SessionRow?

  /// The sessions of an account that were not ended, the oldest first. Some may have expired unnoticed.
  @concurrent func sessions(of account: AccountID) async throws(RegistryStoreError) -> [SessionRow]

  /// At most `limit` sessions that were not ended and whose expiry is `now` or earlier, the most overdue first.
  @concurrent func expired(at now: UnixTime, limit: Int) async throws(RegistryStoreError) -> [SessionRow]

  @concurrent func account(_ id: AccountID) async throws(RegistryStoreError) -> AccountRecord?

  /// The account whose address has that ``EmailAddress/normalised`` form.
  @concurrent func account(email normalised: String) async throws(RegistryStoreError) -> AccountRecord?

  /// The account of that identity.
  @concurrent func account(identity: ExternalIdentity) async throws(RegistryStoreError) -> AccountRecord?

  /// The ticket of that id; nothing when there is none, or no more.
  @concurrent func ticket(_ id: TicketID) async throws(RegistryStoreError) -> Ticket?

  /// Forgets what is over, at most `limit` of each kind: the oldest events, ended sessions, tickets that expired. Never a
  /// session that was not ended. Returns how many were forgotten; of those that may be, none is left when it is zero.
  @concurrent func prune(_ retention: Retention, limit: Int) async throws(RegistryStoreError) -> Int

  /// At most `limit` events after the one of that id, in the order of their ids; of one account, or of all.
  @concurrent func events(
    after id: EventID, account: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredEvent]

  /// The last ``RegistryChange/noteClock(_:expecting:)``; `nil` when there has been none.
  @concurrent func clockNote() async throws(RegistryStoreError) -> ClockNote?

  /// The id of the newest event; ``EventID/zero`` when there has never been one.
  @concurrent func lastEventID() async throws(RegistryStoreError) -> EventID
}

/// One part of a write. A row or record is stored with the revision that its case names, whatever it says itself.
public enum RegistryChange: Sendable, Hashable {
  /// Fails with `exists` when its id is taken, or when the same device has a session of the same account that was not ended;
  /// with `missing` when there is no such account. Stored with revision 0.
  case createSession(SessionRow)
  /// Fails with `missing` when there is none, with `changed` when its revision is not the expected one. Stored with
  /// revision `expecting + 1`. Account, kind and time of creation never change.
  case replaceSession(SessionRow, expecting: Int64)
  /// Ends a session, whatever its revision: who writes to it all the time cannot keep it. Fails with `missing` when there is
  /// none, with `changed` when it was ended before. The device's push token goes, the revision is one more, the rest stays.
  case endSession(SessionID, SessionEnd)
  /// Fails with `exists` when its id, its address or its identity is taken. Stored with revision 0.
  case createAccount(AccountRecord)
  /// Fails with `missing` when there is none, with `changed` when its revision is not the expected one, with `exists` when
  /// its new address or identity is another account's. Stored with revision `expecting + 1`.
  case replaceAccount(AccountRecord, expecting: Int64)
  /// Fails with `exists` when its id is taken.
  case createTicket(Ticket)
  /// Takes a ticket away. Fails with `missing` when there is none, as when somebody else used it.
  case useTicket(TicketID)
  /// Takes away all tickets of that purpose and subject. Never fails.
  case voidTickets(Ticket.Purpose, subject: String)
  /// Changes nothing. Fails with `missing` when there is no such account, with `changed` when its revision is another: what
  /// was decided about an account holds only while it stays as it was.
  case expectAccount(AccountID, revision: Int64)
  /// Takes the place of the note before it. Fails with `changed` when that has another revision than the expected one; `nil`: when
  /// there is one. Stored with revision `expecting + 1`, the first one with 0.
  case noteClock(ClockNote, expecting: Int64?)
  /// Moves times that lie in that span: of living sessions those of creation, rotation and last use, and the absolute expiry
  /// with the creation; both times of tickets that were made in it. A session that this changes has a revision one more. Never
  /// fails.
  case moveTimes(ClosedRange<UnixTime>, by: Duration)
}

/// Why a store did not do what it was asked. The first three are answers, the last is trouble.
public enum RegistryStoreError: Error, Sendable, Hashable {
  /// What should be created is there already.
  case exists
  /// What should be replaced is no longer what it was.
  case changed
  /// What should be replaced, or the account of a new session, is not there.
  case missing
  /// The store cannot be read or written now; the text says why, without any secret.
  case unavailable(String)
}
