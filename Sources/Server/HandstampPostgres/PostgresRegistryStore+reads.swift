#if PostgreSQL
public import HandstampCore
public import HandstampRegistry
import HandstampSupport

extension PostgresRegistryStore {
  @concurrent public func session(_ id: SessionID) async throws(RegistryStoreError) -> SessionRow? {
    guard let session = SessionBytes(id) else { return nil }
    return try await records(StoredQuery<SessionRow>("WHERE id = $1", [.bytes(session.bytes)])).first
  }

  @concurrent public func sessions(of account: AccountID) async throws(RegistryStoreError) -> [SessionRow] {
    try await records(.live(of: account))
  }

  @concurrent public func endedSessions(of account: AccountID) async throws(RegistryStoreError) -> [SessionRow] {
    try await records(.ended(of: account))
  }

  @concurrent public func expired(at now: UnixTime, limit: Int) async throws(RegistryStoreError) -> [SessionRow] {
    // The index has days.
    try await records(
      StoredQuery(
        """
        WHERE ended_at IS NULL AND expiry_day IS NOT NULL AND expiry_day <= $1 / 86400000 AND expiry <= $1
        ORDER BY expiry, id LIMIT $2
        """, [StoredValue(now), .limit(limit)]))
  }

  @concurrent public func account(_ id: AccountID) async throws(RegistryStoreError) -> AccountRecord? {
    try await records(.account(id)).first
  }

  @concurrent public func account(email normalized: String) async throws(RegistryStoreError) -> AccountRecord? {
    try await records(.account(email: normalized)).first
  }

  @concurrent public func account(identity: ExternalIdentity) async throws(RegistryStoreError) -> AccountRecord? {
    try await records(.account(identity: identity.key)).first
  }

  @concurrent public func oneTimeToken(_ id: OneTimeTokenID) async throws(RegistryStoreError) -> OneTimeTokenRecord? {
    try await records(.token(id)).first
  }

  @concurrent public func item(_ id: StoredItemID) async throws(RegistryStoreError) -> StoredItem? {
    try await records(.item(id)).first
  }

  @concurrent public func items(
    _ kind: StoredItem.Kind, subject: String
  ) async throws(RegistryStoreError) -> [StoredItem] {
    try await records(.items(kind, subject: subject))
  }

  @concurrent public func dueItems(
    _ kind: StoredItem.Kind, at now: UnixTime, limit: Int
  ) async throws(RegistryStoreError) -> [StoredItem] {
    try await records(.due(kind, at: now, limit: limit))
  }

  @concurrent public func items(
    _ kind: StoredItem.Kind, after id: StoredItemID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredItem] {
    try await records(.items(kind, after: id, limit: limit))
  }

  @concurrent public func accounts(
    after id: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [AccountRecord] {
    try await records(.accounts(after: id, limit: limit))
  }

  @concurrent public func auditedActions(
    after id: Int64, about account: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredAuditedAction] {
    try await records(.log(after: id, about: account, limit: limit))
  }

  @concurrent public func latestAuditedActions(
    about account: AccountID, before id: Int64?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredAuditedAction] {
    try await records(.latestLog(about: account, before: id, limit: limit))
  }

  @concurrent public func events(
    after id: EventID, account: AccountID?, limit: Int
  ) async throws(RegistryStoreError) -> [StoredEvent] {
    try await records(.log(after: id.rawValue, about: account, limit: limit))
  }

  /// Never: all nodes have one database, so that a damaged page would take every one of them out of a load balancer. PostgreSQL
  /// logs it.
  public var damage: String? { nil }

  @concurrent public func lastEventID() async throws(RegistryStoreError) -> EventID {
    let statement = PostgresStatement("SELECT last FROM handstamp.counter WHERE name = 'event'")
    return EventID(rawValue: try await read(statement) { $0.integer } ?? 0)
  }

  @concurrent public func counts() async throws(RegistryStoreError) -> RegistryCounts {
    let statement = PostgresStatement(
      """
      SELECT (SELECT count(*) FROM handstamp.account WHERE closed_at IS NULL),
        (SELECT count(*) FROM handstamp.account WHERE closed_at IS NULL AND email IS NULL AND identity IS NULL),
        (SELECT count(*) FROM handstamp.session WHERE ended_at IS NULL),
        (SELECT count(*) FROM handstamp.session WHERE ended_at IS NOT NULL),
        (SELECT count(*) FROM handstamp.one_time_token),
        (SELECT count(*) FROM handstamp.stored_item WHERE kind <> 'removal'), (SELECT count(*) FROM handstamp.event),
        (SELECT count(*) FROM handstamp.audit)
      """, isFrequent: false)
    return try await slowly(statement) { result throws(DescribedError) in
      guard result.count == 1 else { throw DescribedError.unreadable(column: nil) }
      var columns = StoredColumns(result[0])
      return RegistryCounts(
        accounts: Int(try columns.integer()), guests: Int(try columns.integer()),
        liveSessions: Int(try columns.integer()), endedSessions: Int(try columns.integer()),
        oneTimeTokens: Int(try columns.integer()), items: Int(try columns.integer()),
        events: Int(try columns.integer()), auditedActions: Int(try columns.integer()))
    }
  }

  /// Returns the last clock note.
  ///
  /// - Throws: ``RegistryStoreError``, also if the note is older than one seen before: an older copy took the place of the database.
  ///   The store then refuses everything until it has ended again what ended since, which takes a moment.
  @concurrent public func clockNote() async throws(RegistryStoreError) -> ClockNote? {
    // The read must find at least the revision that was seen before it started.
    let least = contents.newestNote
    if isPooled, let identity = try await read(PostgresContents.identity, { $0.text }), !contents.saw(identity) {
      throw .unavailable(PostgresContents.replaced)
    }
    let note = try await records(StoredQuery<ClockNote>()).first
    guard (note?.revision ?? -1) < least else {
      if let note { contents.saw(note) }
      return note?.marked(by: keptNote)
    }
    contents.recover()
    throw .unavailable(PostgresContents.replaced)
  }

  private func records<Record>(_ query: StoredQuery<Record>) async throws(RegistryStoreError) -> [Record] {
    guard !query.isInVain else { return [] }
    return try await read(query.statement) { result throws(DescribedError) in try result.records(Record.self) }
  }

  private func read<Value: Sendable>(
    _ statement: PostgresStatement, _ body: @escaping @Sendable (PostgresResult) throws(DescribedError) -> Value
  ) async throws(RegistryStoreError) -> Value {
    try contents.requireSound()
    return try await answer(to: statement, for: .reading, body).0
  }

  /// Runs a statement that may take long.
  func slowly<Value: Sendable>(
    _ statement: PostgresStatement, _ body: @escaping @Sendable (PostgresResult) throws(DescribedError) -> Value
  ) async throws(RegistryStoreError) -> Value {
    try await exclusively(.maintenance) { lane, deadline throws(RegistryStoreError) in
      do {
        let result = try lane.connected(until: deadline) { connection throws(PostgresError) in
          try connection.run(statement, until: deadline)
        }
        return try body(result)
      } catch let fault as PostgresError {
        throw RegistryStoreError(fault)
      } catch {
        throw RegistryStoreError.unavailable("\(error)")
      }
    }
  }
}
#endif
