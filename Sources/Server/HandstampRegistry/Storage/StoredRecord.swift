import HandstampCore
package import HandstampSupport

/// Something that a store has as a row. The columns are the same in every store; times and durations are milliseconds.
package protocol StoredRecord: Sendable {
  /// The name of the table.
  static var table: String { get }
  /// The names of the columns, separated by commas.
  static var columns: String { get }
  init<Source: ColumnSource>(from columns: inout StoredColumns<Source>) throws(DescribedError)
  /// The values of ``columns``.
  func storedValues() throws(RegistryStoreError) -> [StoredValue]
}

extension StoredRecord {
  /// The number of ``columns``.
  package static var columnCount: Int { columns.split(separator: ",").count }

  package init(source: some ColumnSource) throws(DescribedError) {
    var columns = StoredColumns(source)
    try self.init(from: &columns)
  }
}

/// A column that changes: its name, its value in a record, and how it is read into one.
package struct StoredField<Record>: Sendable {
  package let name: String
  package let value: @Sendable (Record) -> StoredValue
  fileprivate let read: @Sendable (inout Record, inout StoredColumns<ColumnValue>) throws -> Void
}

extension StoredColumns {
  /// Reads the next column.
  fileprivate mutating func read<Record>(
    _ field: StoredField<Record>, into record: inout Record
  ) throws(DescribedError) {
    var column = StoredColumns<ColumnValue>(try read())
    do { try field.read(&record, &column) } catch { throw unreadable }
  }
}

extension SessionRow: StoredRecord {
  package static let table = "session"
  package static let columns = """
    id, account, device_id, device_name, platform, kind, counter, ring, oldest_cookie, oldest_cookie_at, \
    oldest_cookie_replaced, created_at, rotated_at, last_seen_at, ended_at, end_reason, absolute_expiry, idle_limit, \
    expiry, dpop_thumbprint, push_token, client, scope, audience, browser, authenticated_at, methods, requested_acr, \
    pending, replaces, persistence, revision
    """

  package init<Source: ColumnSource>(from columns: inout StoredColumns<Source>) throws(DescribedError) {
    guard let session = SessionBytes(try columns.bytes()) else { throw columns.unreadable }
    let account = AccountID(try columns.text())
    let device = DeviceInfo(id: DeviceID(try columns.text()), name: try columns.text(), platform: try columns.text())
    let kind: SessionKind = try columns.word()
    let counter = try columns.integer()
    guard counter >= 0 else { throw columns.unreadable }
    // The key of a sign-in comes before the first rotation.
    guard let ring = KeyRing(bytes: try columns.bytes(), in: kind), Int64(ring.entries.count) <= counter + 1 else {
      throw columns.unreadable
    }
    let cookies = try columns.cookies(before: counter)
    let (created, rotated, seen) = (try columns.time(), try columns.time(), try columns.time())
    let endedAt = try columns.optionalTime()
    let reason: EndReason? = try columns.optionalWord()
    let absolute = try columns.optionalTime()
    let idle = try columns.optionalInteger()
    // The expiry follows from the others.
    columns.skip(1)
    let (thumbprint, push) = (try columns.optionalText(), try columns.optionalBytes())
    let (client, scope, audience) = (
      try columns.optionalText(), try columns.optionalText(), try columns.optionalText()
    )
    let browser = try columns.optionalText().map { DeviceID($0) }
    let authenticated = try columns.time()
    let methods = AuthenticationMethods(text: try columns.optionalText(), asked: try columns.optionalWord())
    let pending = try columns.pending()
    let persistence: SessionPersistence? = try columns.optionalWord()
    self.init(
      session: session, account: account, device: device, kind: kind, persistence: persistence ?? .persistent,
      client: client.map { SessionClient(id: $0, scope: scope ?? "", audience: audience, browser: browser) },
      counter: UInt64(counter),
      ring: ring,
      createdAt: created, authenticatedAt: authenticated, methods: methods, rotatedAt: rotated, lastSeenAt: seen,
      end: endedAt.map { SessionEnd(at: $0, reason: reason ?? .rejected) }, absoluteExpiry: absolute,
      idleLimit: idle.map { .milliseconds($0) }, dpopThumbprint: thumbprint, pushToken: push.map { Secret(bytes: $0) },
      pending: pending, revision: try columns.integer())
    self.cookies = cookies
  }

  package func storedValues() throws(RegistryStoreError) -> [StoredValue] {
    var values: [StoredValue] = [
      .bytes(session.bytes), .text(account.rawValue), .text(device.id.rawValue), .text(device.name),
      .text(device.platform), .text(kind.rawValue), .integer(try storedCounter()), .bytes(ring.bytes(in: kind)),
    ]
    values += storedCookies
    values += [
      StoredValue(createdAt), StoredValue(rotatedAt), StoredValue(lastSeenAt), StoredValue(end?.at),
      StoredValue(end?.reason.rawValue), StoredValue(absoluteExpiry), StoredValue(idleLimit?.wholeMilliseconds),
      StoredValue(expiry), StoredValue(dpopThumbprint), StoredValue(pushToken), StoredValue(client?.id),
      StoredValue(client?.scope), StoredValue(client?.audience), StoredValue(client?.browser?.rawValue),
      StoredValue(authenticatedAt), StoredValue(methods.text), StoredValue(methods.asked?.rawValue),
    ]
    values += storedPending
    return values + [
      StoredValue(persistence == .persistent ? nil : persistence.rawValue), .integer(revision),
    ]
  }

  /// The values of the columns `oldest_cookie`, `oldest_cookie_at` and `oldest_cookie_replaced`.
  package var storedCookies: [StoredValue] {
    [
      .integer(cookies.map { Int64(clamping: $0.oldest) }), StoredValue(cookies?.provenAt),
      .integer(cookies.map { $0.isReplaced ? 1 : 0 }),
    ]
  }

  /// The values of the columns `pending` and `replaces`.
  package var storedPending: [StoredValue] {
    let replaces = (pending?.replaces ?? []).map(\.rawValue)
    return [
      .text(pending.map { ($0.canBeForgotten ? PendingWord.keyed : .plain).rawValue }),
      .text(replaces.isEmpty ? nil : replaces.joined(separator: " ")),
    ]
  }

  /// The counter as databases store numbers.
  package func storedCounter() throws(RegistryStoreError) -> Int64 {
    guard let counter = Int64(exactly: counter) else { throw .unavailable("a counter is too large") }
    return counter
  }
}

/// How the column `pending` says ``PendingSession/canBeForgotten``.
private enum PendingWord: String { case keyed, plain }

extension StoredColumns {
  /// Reads the columns of ``CookieRange``, whose oldest cookie is older than the newest.
  fileprivate mutating func cookies(before newest: Int64) throws(DescribedError) -> CookieRange? {
    guard let oldest = try optionalInteger() else {
      skip(2)
      return nil
    }
    guard (0..<newest).contains(oldest) else { throw unreadable }
    return CookieRange(oldest: UInt64(oldest), provenAt: try time(), isReplaced: try integer() == 1)
  }

  /// Reads the columns `pending` and `replaces`.
  fileprivate mutating func pending() throws(DescribedError) -> PendingSession? {
    guard let word: PendingWord = try optionalWord() else {
      skip(1)
      return nil
    }
    let replaces = try optionalText()?.split(separator: " ").map { SessionID(String($0)) } ?? []
    return PendingSession(canBeForgotten: word == .keyed, replaces: replaces)
  }
}

extension AccountRecord: StoredRecord {
  package static let table = "account"
  /// The ID and the beginning, which stay as they were first written, ``fields``, and the number of writes.
  package static let columns = (["id", "created_at"] + fields.map(\.name) + ["revision"]).joined(separator: ", ")

  /// The columns that a change of an account replaces. Every statement of both stores about accounts is made of this list.
  package static let fields: [StoredField<AccountRecord>] = [
    StoredField(
      name: "email", value: { StoredValue($0.email?.normalized) },
      read: { $0.email = try $1.optionalText().map { EmailAddress(stored: $0, normalized: $0) } }),
    StoredField(
      name: "email_typed", value: { StoredValue($0.email?.typed) },
      read: {
        guard let typed = try $1.optionalText(), let email = $0.email else { return }
        $0.email = EmailAddress(stored: typed, normalized: email.normalized)
      }),
    StoredField(
      name: "identity", value: { StoredValue($0.identity?.key) },
      read: {
        guard let key = try $1.optionalText() else { return }
        guard let identity = ExternalIdentity(key: key) else { throw $1.unreadable }
        $0.identity = identity
      }),
    StoredField(name: "username", value: { .text($0.username) }, read: { $0.username = try $1.text() }),
    StoredField(
      name: "password_hash", value: { StoredValue($0.passwordHash) },
      read: { $0.passwordHash = try $1.optionalBytes().map { Secret(bytes: $0) } }),
    StoredField(
      name: "credentials_changed_at", value: { StoredValue($0.credentialsChangedAt) },
      read: { $0.credentialsChangedAt = try $1.optionalTime() }),
    StoredField(
      name: "closed_at", value: { StoredValue($0.closedAt) }, read: { $0.closedAt = try $1.optionalTime() }),
    StoredField(
      name: "email_confirmed_at", value: { StoredValue($0.emailConfirmedAt) },
      read: { $0.emailConfirmedAt = try $1.optionalTime() }),
    StoredField(
      name: "locale", value: { StoredValue($0.locale?.rawValue) }, read: { $0.locale = try $1.optionalWord() }),
  ]

  package init<Source: ColumnSource>(from columns: inout StoredColumns<Source>) throws(DescribedError) {
    let id = AccountID(try columns.text())
    self.init(id: id, email: nil, username: "", passwordHash: nil, createdAt: try columns.time())
    for field in AccountRecord.fields { try columns.read(field, into: &self) }
    revision = try columns.integer()
  }

  package func storedValues() throws(RegistryStoreError) -> [StoredValue] {
    // SQLite would truncate the text there, so that two IDs could be equal; PostgreSQL has no such texts.
    guard !id.rawValue.utf8.contains(0) else { throw .unavailable("an ID contains NUL") }
    return [.text(id.rawValue), StoredValue(createdAt)] + AccountRecord.fields.map { $0.value(self) }
      + [.integer(revision)]
  }

  /// The SQL that replaces an account, with the parameters of ``replacement(expecting:)``.
  ///
  /// - Parameters:
  ///   - schema: precedes the name of the table.
  ///   - mark: precedes the number of a parameter.
  package static func replacement(schema: String = "", mark: String) -> String {
    let assignments = fields.enumerated().map { "\($1.name) = \(mark)\($0 + 3), " }.joined()
    return """
      UPDATE \(schema)\(table) SET \(assignments)revision = revision + 1
      WHERE id = \(mark)1 AND revision = \(mark)2
      """
  }

  package func replacement(expecting: Int64) -> [StoredValue] {
    [.text(id.rawValue), .integer(expecting)] + AccountRecord.fields.map { $0.value(self) }
  }
}

extension OneTimeTokenRecord: StoredRecord {
  package static let table = "one_time_token"
  package static let columns =
    "id, purpose, subject, account, email, email_typed, username, payload, created_at, expires_at"

  package init<Source: ColumnSource>(from columns: inout StoredColumns<Source>) throws(DescribedError) {
    guard let id = OneTimeTokenID(try columns.bytes()) else { throw columns.unreadable }
    let purpose: Purpose = try columns.word()
    let subject = try columns.text()
    let account = try columns.optionalText().map { AccountID($0) }
    let (email, typed) = (try columns.optionalText(), try columns.optionalText())
    self.init(
      id: id, purpose: purpose, subject: subject, account: account,
      email: email.map { EmailAddress(stored: typed ?? $0, normalized: $0) }, username: try columns.text(),
      payload: try columns.text(), createdAt: try columns.time(), expiresAt: try columns.time())
  }

  package func storedValues() throws(RegistryStoreError) -> [StoredValue] {
    [
      .bytes(id.bytes), .text(purpose.rawValue), .text(subject), StoredValue(account?.rawValue),
      StoredValue(email?.normalized), StoredValue(email?.typed), .text(username), .text(payload),
      StoredValue(createdAt), StoredValue(expiresAt),
    ]
  }
}

extension StoredItem: StoredRecord {
  package static let table = "stored_item"
  package static let columns = "id, kind, subject, payload, created_at, due_at, expires_at, revision"

  package init<Source: ColumnSource>(from columns: inout StoredColumns<Source>) throws(DescribedError) {
    guard let id = StoredItemID(try columns.bytes()) else { throw columns.unreadable }
    self.init(
      id: id, kind: try columns.word(), subject: try columns.text(), payload: try columns.text(),
      createdAt: try columns.time(), dueAt: try columns.optionalTime(), expiresAt: try columns.time(),
      revision: try columns.integer())
  }

  package func storedValues() throws(RegistryStoreError) -> [StoredValue] {
    [
      .bytes(id.bytes), .text(kind.rawValue), .text(subject), .text(payload), StoredValue(createdAt),
      StoredValue(dueAt), StoredValue(expiresAt), .integer(revision),
    ]
  }
}

extension StoredEvent: StoredRecord {
  package static let table = "event"
  package static let columns = "id, kind, account, session, reason, at"

  package init<Source: ColumnSource>(from columns: inout StoredColumns<Source>) throws(DescribedError) {
    let id = EventID(rawValue: try columns.integer())
    let event = RegistryEvent(
      kind: try columns.word(), account: AccountID(try columns.text()),
      session: try columns.optionalText().map { SessionID($0) }, reason: try columns.optionalWord(),
      at: try columns.time())
    self.init(id: id, event: event)
  }

  package func storedValues() throws(RegistryStoreError) -> [StoredValue] {
    [.integer(id.rawValue)] + event.storedValues
  }
}

extension RegistryEvent {
  /// The values of the columns of ``StoredEvent`` besides its ID.
  package var storedValues: [StoredValue] {
    [
      .text(kind.rawValue), .text(account.rawValue), StoredValue(session?.rawValue), StoredValue(reason?.rawValue),
      StoredValue(at),
    ]
  }
}

extension StoredAuditedAction: StoredRecord {
  package static let table = "audit"
  package static let columns = "id, at, action, actor, account, session, address, details"

  package init<Source: ColumnSource>(from columns: inout StoredColumns<Source>) throws(DescribedError) {
    let id = try columns.integer()
    self.init(
      id: id,
      audited: AuditedAction(
        at: try columns.time(), action: try columns.text(), actor: try columns.text(),
        account: try columns.optionalText().map { AccountID($0) },
        session: try columns.optionalText().map { SessionID($0) }, address: try columns.optionalText(),
        details: try columns.text()))
  }

  package func storedValues() throws(RegistryStoreError) -> [StoredValue] { [.integer(id)] + audited.storedValues }
}

extension AuditedAction {
  /// The values of the columns of ``StoredAuditedAction`` besides its ID.
  package var storedValues: [StoredValue] {
    [
      StoredValue(at), .text(action), .text(actor), StoredValue(account?.rawValue), StoredValue(session?.rawValue),
      StoredValue(address), .text(details),
    ]
  }
}

extension ClockNote: StoredRecord {
  package static let table = "clock"
  package static let columns = "at, doubted_since, revision"

  package init<Source: ColumnSource>(from columns: inout StoredColumns<Source>) throws(DescribedError) {
    self.init(at: try columns.time(), doubtedSince: try columns.optionalTime(), revision: try columns.integer())
  }

  package func storedValues() throws(RegistryStoreError) -> [StoredValue] {
    [StoredValue(at), StoredValue(doubtedSince), .integer(revision)]
  }
}

extension LoggedEnd {
  package static let columns = "id, ended_at, end_reason, expiry"

  package init(source: some ColumnSource) throws(DescribedError) {
    var columns = StoredColumns(source)
    guard let session = SessionBytes(try columns.bytes()) else { throw columns.unreadable }
    self.init(
      session: session, end: SessionEnd(at: try columns.time(), reason: try columns.word()),
      expiry: try columns.optionalTime())
  }
}
