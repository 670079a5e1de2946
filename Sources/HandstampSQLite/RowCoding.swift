#if SQLite
import Foundation
import GRDB
import HandstampCore
import HandstampRegistry

/// Reads the columns of a row in order. A value of the wrong type is an error, never a trap.
struct Columns {
  private let row: Row
  private var next = 0

  init(_ row: Row) { self.row = row }

  /// The error for the value that was read last.
  var unreadable: UnreadableRow { UnreadableRow(column: Array(row.columnNames.prefix(next)).last) }

  mutating func optional<Value: DatabaseValueConvertible>(_ type: Value.Type = Value.self) throws -> Value? {
    guard next < row.count else { throw UnreadableRow(column: nil) }
    let value: DatabaseValue = row[next]
    next += 1
    if value.isNull { return nil }
    guard let converted = Value.fromDatabaseValue(value) else { throw unreadable }
    return converted
  }

  mutating func value<Value: DatabaseValueConvertible>(_ type: Value.Type = Value.self) throws -> Value {
    guard let value = try optional(type) else { throw unreadable }
    return value
  }

  mutating func time() throws -> UnixTime { UnixTime(milliseconds: try value()) }
  mutating func optionalTime() throws -> UnixTime? { try optional(Int64.self).map { UnixTime(milliseconds: $0) } }

  mutating func word<Word: RawRepresentable<String>>() throws -> Word {
    guard let word = Word(rawValue: try value()) else { throw unreadable }
    return word
  }

  mutating func optionalWord<Word: RawRepresentable<String>>() throws -> Word? {
    guard let text = try optional(String.self) else { return nil }
    guard let word = Word(rawValue: text) else { throw unreadable }
    return word
  }
}

/// A stored row that is not valid, because it was edited by hand or written by a newer version.
struct UnreadableRow: Error, CustomStringConvertible {
  /// The column with the invalid value; `nil` if the row has too few.
  var column: String?

  var description: String {
    column.map { "a stored row has an invalid value in the column \($0)" } ?? "a stored row has too few columns"
  }
}

extension SessionRow {
  static let columns = """
    id, account, device_id, device_name, platform, kind, counter, ring, created_at, rotated_at, last_seen_at, ended_at, \
    end_reason, absolute_expiry, idle_limit, expiry, dpop_thumbprint, push_token, \
    client, scope, audience, authenticated_at, revision
    """

  init(row: Row) throws {
    var columns = Columns(row)
    guard let session = SessionBytes(try columns.value(Data.self)) else { throw columns.unreadable }
    let account = AccountID(try columns.value())
    let device = DeviceInfo(
      id: DeviceID(try columns.value()), name: try columns.value(), platform: try columns.value())
    let kind: SessionKind = try columns.word()
    let counter = try columns.value(Int64.self)
    guard counter >= 0 else { throw columns.unreadable }
    guard let ring = KeyRing(bytes: try columns.value(Data.self)), Int64(ring.entries.count) <= counter else {
      throw columns.unreadable
    }
    let (created, rotated, seen) = (try columns.time(), try columns.time(), try columns.time())
    let endedAt = try columns.optionalTime()
    let reason: EndReason? = try columns.optionalWord()
    let absolute = try columns.optionalTime()
    let idle = try columns.optional(Int64.self)
    _ = try columns.optionalTime()
    let (thumbprint, push) = (try columns.optional(String.self), try columns.optional(Data.self))
    let (client, scope) = (try columns.optional(String.self), try columns.optional(String.self))
    let audience = try columns.optional(String.self)
    let authenticated = try columns.optionalTime()
    self.init(
      session: session, account: account, device: device, kind: kind,
      client: client.map { SessionClient(id: $0, scope: scope ?? "", audience: audience) }, counter: UInt64(counter),
      ring: ring,
      createdAt: created, authenticatedAt: authenticated, rotatedAt: rotated, lastSeenAt: seen,
      end: endedAt.map { SessionEnd(at: $0, reason: reason ?? .rejected) }, absoluteExpiry: absolute,
      idleLimit: idle.map { .milliseconds($0) }, dpopThumbprint: thumbprint, pushToken: push.map { Secret(bytes: $0) },
      revision: try columns.value())
  }
}

extension AccountRecord {
  static let columns = """
    id, email, email_typed, identity, username, password_hash, created_at, credentials_changed_at, closed_at, revision
    """

  init(row: Row) throws {
    var columns = Columns(row)
    let id = AccountID(try columns.value())
    let (email, typed) = (try columns.optional(String.self), try columns.optional(String.self))
    let key = try columns.optional(String.self)
    let identity = key.flatMap { ExternalIdentity(key: $0) }
    guard key == nil || identity != nil else { throw columns.unreadable }
    self.init(
      id: id, email: email.map { EmailAddress(stored: typed ?? $0, normalized: $0) }, identity: identity,
      username: try columns.value(),
      passwordHash: try columns.optional(Data.self).map { Secret(bytes: $0) }, createdAt: try columns.time(),
      credentialsChangedAt: try columns.optionalTime(), closedAt: try columns.optionalTime(),
      revision: try columns.value())
  }
}

extension OneTimeTokenRecord {
  static let columns = "id, purpose, subject, account, email, email_typed, username, payload, created_at, expires_at"

  init(row: Row) throws {
    var columns = Columns(row)
    guard let id = OneTimeTokenID(try columns.value(Data.self)) else { throw columns.unreadable }
    let purpose: Purpose = try columns.word()
    let subject = try columns.value(String.self)
    let account = try columns.optional(String.self).map { AccountID($0) }
    let (email, typed) = (try columns.optional(String.self), try columns.optional(String.self))
    self.init(
      id: id, purpose: purpose, subject: subject, account: account,
      email: email.map { EmailAddress(stored: typed ?? $0, normalized: $0) }, username: try columns.value(),
      payload: try columns.value(),
      createdAt: try columns.time(), expiresAt: try columns.time())
  }
}

extension StoredEvent {
  static let columns = "id, kind, account, session, reason, at"

  init(row: Row) throws {
    var columns = Columns(row)
    let id = EventID(rawValue: try columns.value())
    let event = RegistryEvent(
      kind: try columns.word(), account: AccountID(try columns.value()),
      session: try columns.optional(String.self).map { SessionID($0) }, reason: try columns.optionalWord(),
      at: try columns.time())
    self.init(id: id, event: event)
  }
}

extension RegistryFact {
  static let columns = "id, kind, subject, payload, created_at, due_at, expires_at, revision"

  init(row: Row) throws {
    var columns = Columns(row)
    guard let id = FactID(try columns.value(Data.self)) else { throw columns.unreadable }
    self.init(
      id: id, kind: try columns.word(), subject: try columns.value(), payload: try columns.value(),
      createdAt: try columns.time(), dueAt: try columns.optionalTime(), expiresAt: try columns.time(),
      revision: try columns.value())
  }
}

extension StoredAuditedAction {
  static let columns = "id, at, action, actor, account, session, address, details"

  init(row: Row) throws {
    var columns = Columns(row)
    let id: Int64 = try columns.value()
    self.init(
      id: id,
      audited: AuditedAction(
        at: try columns.time(), action: try columns.value(), actor: try columns.value(),
        account: try columns.optional(String.self).map { AccountID($0) },
        session: try columns.optional(String.self).map { SessionID($0) }, address: try columns.optional(),
        details: try columns.value()))
  }
}

extension Duration {
  /// The duration in whole milliseconds, rounded toward zero.
  var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    guard !overflow else { return seconds > 0 ? .max : .min }
    let (sum, above) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
    return above ? (product > 0 ? .max : .min) : sum
  }
}

extension ClockNote {
  init(row: Row) throws {
    var columns = Columns(row)
    self.init(
      at: try columns.time(), doubtedSince: try columns.optionalTime(), revision: try columns.value())
  }
}
#endif
