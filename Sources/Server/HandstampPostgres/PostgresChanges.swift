#if PostgreSQL
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// One change of a write as a statement, and what its answer means.
struct PostgresStep {
  /// The meaning of a statement that changes or returns no row.
  enum Expectation {
    /// No meaning.
    case anything
    /// That the row is missing.
    case present
    /// That the row has changed.
    case unchanged
    /// That the row is missing or has changed; the statement returns a row if it is there.
    case current(PostgresStatement)
    /// The statement returns a revision, which must be this one.
    case revision(Int64)
  }

  var statement: PostgresStatement
  var expectation = Expectation.anything
  /// Whether it returns the columns of ``LoggedEnd``.
  var endsSession = false

  /// Returns why the change is not possible; `nil` if it is. With ``Expectation/current(_:)`` that is only known to be one of two.
  func refusal(_ result: PostgresResult) -> RegistryStoreError? {
    switch expectation {
    case .anything: nil
    case .present: result.changes == 0 ? .notFound : nil
    case .unchanged, .current: result.changes == 0 ? .conflict : nil
    case .revision(let revision): result.integer.map { $0 == revision ? nil : .conflict } ?? .notFound
    }
  }
}

extension PostgresStep {
  init(_ sql: String, _ values: [PostgresValue], _ expectation: Expectation = .anything) {
    self.init(statement: PostgresStatement(sql, values), expectation: expectation)
  }

  /// The statements of changes, in order. One that deletes a row, followed by one that creates it anew, replaces it: a concurrent
  /// statement that waits for the row would otherwise find none, and neither change nor delete the new one.
  static func steps(of changes: [RegistryChange]) throws(RegistryStoreError) -> [PostgresStep] {
    var steps: [PostgresStep] = []
    var rest = changes
    while !rest.isEmpty {
      let change = rest.removeFirst()
      switch change {
      case .redeemOneTimeToken(let id):
        let index = rest.firstIndex { if case .createOneTimeToken(let record) = $0 { record.id == id } else { false } }
        if let index, case .createOneTimeToken(let record) = rest.remove(at: index) {
          steps.append(
            PostgresStep(statement: try .overwriting(record, expecting: nil), expectation: .present))
        } else {
          steps += try change.steps()
        }
      case .removeItem(let removed):
        let id = removed.id
        let index = rest.firstIndex { if case .createItem(let item) = $0 { item.id == id } else { false } }
        if let index, case .createItem(var item) = rest.remove(at: index) {
          item.revision = 0
          steps.append(
            PostgresStep(
              statement: try .overwriting(item, expecting: removed.revision),
              expectation: .current(.finding(id))))
        } else {
          steps += try change.steps()
        }
      default: steps += try change.steps()
      }
    }
    return steps
  }
}

extension RegistryChange {
  /// The change as statements, in order; none if it has its place in a log, see ``loggedAction``.
  func steps() throws(RegistryStoreError) -> [PostgresStep] {
    switch self {
    case .createSession(var row):
      row.revision = 0
      return [PostgresStep(statement: try .inserting(row))]
    case .replaceSession(let row, let expecting):
      return [
        PostgresStep(
          statement: try .replacing(row, expecting: expecting), expectation: .current(.finding(row.session)),
          endsSession: row.end != nil)
      ]
    case .endSession(let id, let end):
      guard let session = SessionBytes(id) else { throw .notFound }
      return [
        PostgresStep(
          statement: .ending(session, end), expectation: .current(.finding(session)), endsSession: true)
      ]
    case .createAccount(var record):
      record.revision = 0
      return [PostgresStep(statement: try .inserting(record))]
    case .replaceAccount(let record, let expecting):
      let values = record.replacement(expecting: expecting).map { PostgresValue($0) }
      return [PostgresStep(RegistryChange.accountReplacement, values, .current(.finding(record.id)))]
    case .expectAccount(let id, let revision):
      // Shared: other writes may rely on the same account, and none may change it until this one is over.
      let sql = "SELECT revision FROM handstamp.account WHERE id = $1 FOR SHARE"
      return [PostgresStep(sql, [.text(id.rawValue)], .revision(revision))]
    case .expectSession(let id):
      guard let session = SessionBytes(id) else { throw .notFound }
      // Shared: several writes may rely on the same session, and none may end it until they are over.
      let sql = "SELECT 1::bigint FROM handstamp.session WHERE id = $1 AND ended_at IS NULL FOR SHARE"
      return [PostgresStep(sql, [.bytes(session.bytes)], .current(.finding(session)))]
    case .createOneTimeToken(let record): return [PostgresStep(statement: try .inserting(record))]
    case .redeemOneTimeToken(let id):
      return [PostgresStep("DELETE FROM handstamp.one_time_token WHERE id = $1", [.bytes(id.bytes)], .present)]
    case .voidOneTimeTokens(let purpose, let subject):
      let sql = "DELETE FROM handstamp.one_time_token WHERE purpose = $1 AND subject = $2"
      return [PostgresStep(sql, [.text(purpose.rawValue), .text(subject)])]
    case .createItem(var item):
      item.revision = 0
      return [PostgresStep(statement: try .inserting(item))]
    case .replaceItem(let item, let expecting):
      let sql = """
        UPDATE handstamp.stored_item SET payload = $1, due_at = $2, expires_at = $3, revision = revision + 1
        WHERE id = $4 AND revision = $5
        """
      let values: [PostgresValue] = [
        .text(item.payload), .integer(item.dueAt?.milliseconds), .integer(item.expiresAt.milliseconds),
        .bytes(item.id.bytes), .integer(expecting),
      ]
      return [PostgresStep(sql, values, .current(.finding(item.id)))]
    case .putItem(var item):
      item.revision = 0
      var step = PostgresStep(statement: try .inserting(item))
      step.statement.sql += """
         ON CONFLICT (id) DO UPDATE SET payload = excluded.payload, due_at = excluded.due_at,
          expires_at = excluded.expires_at, revision = handstamp.stored_item.revision + 1
        """
      return [step]
    case .removeItem(let item):
      let sql = "DELETE FROM handstamp.stored_item WHERE id = $1 AND revision = $2"
      return [PostgresStep(sql, [.bytes(item.id.bytes), .integer(item.revision)], .current(.finding(item.id)))]
    case .removeItems(let kind, let subject):
      let sql = "DELETE FROM handstamp.stored_item WHERE kind = $1 AND subject = $2"
      return [PostgresStep(sql, [.text(kind.rawValue), .text(subject)])]
    case .eraseDevices(let account):
      let sql = """
        UPDATE handstamp.session SET device_id = '', device_name = '', platform = '', push_token = NULL,
          revision = revision + 1
        WHERE account = $1 AND ended_at IS NOT NULL
        """
      return [PostgresStep(sql, [.text(account.rawValue)])]
    case .noteClock(let note):
      let sql =
        note.revision == 0
        ? "INSERT INTO handstamp.clock (at, doubted_since, revision) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
        : "UPDATE handstamp.clock SET at = $1, doubted_since = $2, revision = $3 WHERE revision = $3 - 1"
      let values: [PostgresValue] = [
        .integer(note.at.milliseconds), .integer(note.doubtedSince?.milliseconds), .integer(note.revision),
      ]
      return [PostgresStep(sql, values, .unchanged)]
    case .moveTimes(let shift):
      return TimeShift.statements(schema: "handstamp.", mark: "$", least: "LEAST").map { sql in
        PostgresStep(statement: PostgresStatement(sql, shift.values.map { .integer($0) }, isFrequent: false))
      }
    case .audit: return []
    }
  }

  private static let accountReplacement = AccountRecord.replacement(schema: "handstamp.", mark: "$")

  /// The entry of the audit log; `nil` for any other change.
  var loggedAction: AuditedAction? { if case .audit(let action) = self { action } else { nil } }
}

extension PostgresStatement {
  static func inserting<Record: StoredRecord>(_ record: Record) throws(RegistryStoreError) -> PostgresStatement {
    let marks = (1...Record.columnCount).map { "$\($0)" }.joined(separator: ", ")
    return PostgresStatement(
      "INSERT INTO handstamp.\(Record.table) (\(Record.columns)) VALUES (\(marks))",
      try record.storedValues().map { PostgresValue($0) })
  }

  /// Replaces all columns of a row.
  static func overwriting<Record: StoredRecord>(
    _ record: Record, expecting revision: Int64?
  ) throws(RegistryStoreError) -> PostgresStatement {
    let columns = Record.columns.split(separator: ",").enumerated()
    let assignments = columns.map { "\($0.element) = $\($0.offset + 1)" }.joined(separator: ",")
    let condition = revision == nil ? "" : " AND revision = $\(Record.columnCount + 1)"
    return PostgresStatement(
      "UPDATE handstamp.\(Record.table) SET \(assignments) WHERE id = $1\(condition)",
      try record.storedValues().map { PostgresValue($0) } + (revision.map { [.integer($0)] } ?? []))
  }

  private static let replacement = """
    UPDATE handstamp.session SET counter = $1, ring = $2, rotated_at = $3, last_seen_at = $4, absolute_expiry = $5,
      idle_limit = $6, expiry = $7, dpop_thumbprint = $8, push_token = $9, authenticated_at = $10, device_id = $11,
      device_name = $12, platform = $13, ended_at = $14, end_reason = $15, kind = $16, methods = $17,
      requested_acr = $18, pending = $19, replaces = $20, oldest_cookie = $21, oldest_cookie_at = $22,
      oldest_cookie_replaced = $23, revision = revision + 1
    WHERE id = $24 AND account = $25 AND revision = $26
    RETURNING \(LoggedEnd.columns)
    """

  /// The one statement of a refresh. Returns the columns of ``LoggedEnd``.
  static func replacing(_ row: SessionRow, expecting: Int64) throws(RegistryStoreError) -> PostgresStatement {
    let changed: [PostgresValue] = [
      .integer(try row.storedCounter()), .bytes(row.ring.bytes(in: row.kind)), .integer(row.rotatedAt.milliseconds),
      .integer(row.lastSeenAt.milliseconds), .integer(row.absoluteExpiry?.milliseconds),
      .integer(row.idleLimit?.wholeMilliseconds), .integer(row.expiry?.milliseconds), .text(row.dpopThumbprint),
      PostgresValue(StoredValue(row.pushToken)), .integer(row.authenticatedAt.milliseconds),
      .text(row.device.id.rawValue), .text(row.device.name), .text(row.device.platform),
      .integer(row.end?.at.milliseconds), .text(row.end?.reason.rawValue), .text(row.kind.rawValue),
      .text(row.methods.text), .text(row.methods.asked?.rawValue),
    ]
    let others = (row.storedPending + row.storedCookies).map { PostgresValue($0) }
    let key: [PostgresValue] = [.bytes(row.session.bytes), .text(row.account.rawValue), .integer(expecting)]
    return PostgresStatement(replacement, changed + others + key)
  }

  static func ending(_ session: SessionBytes, _ end: SessionEnd) -> PostgresStatement {
    PostgresStatement(
      """
      UPDATE handstamp.session SET ended_at = $1, end_reason = $2, push_token = NULL, revision = revision + 1
      WHERE id = $3 AND ended_at IS NULL
      RETURNING \(LoggedEnd.columns)
      """, [.integer(end.at.milliseconds), .text(end.reason.rawValue), .bytes(session.bytes)])
  }

  static func finding(_ session: SessionBytes) -> PostgresStatement {
    PostgresStatement("SELECT 1::bigint FROM handstamp.session WHERE id = $1", [.bytes(session.bytes)])
  }
  static func finding(_ item: StoredItemID) -> PostgresStatement {
    PostgresStatement("SELECT 1::bigint FROM handstamp.stored_item WHERE id = $1", [.bytes(item.bytes)])
  }
  static func finding(_ account: AccountID) -> PostgresStatement {
    PostgresStatement("SELECT 1::bigint FROM handstamp.account WHERE id = $1", [.text(account.rawValue)])
  }

  /// Appends to a log with the next number. Nothing but the commit may follow in its transaction: the number is not
  /// free for others until then.
  static func appending(_ values: [StoredValue], to log: String, columns: String) -> PostgresStatement {
    let marks = values.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
    return PostgresStatement(
      """
      WITH number AS (UPDATE handstamp.counter SET last = last + 1 WHERE name = '\(log)' RETURNING last)
      INSERT INTO handstamp.\(log) (\(columns)) VALUES ((SELECT last FROM number), \(marks))
      """, values.map { PostgresValue($0) })
  }
}
#endif
