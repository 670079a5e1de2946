#if Command
import HandstampCore
import HandstampRegistry
import HandstampServer

/// An account, for programs.
struct AccountItem: Encodable {
  var id: String
  /// `active`, `disabled` or `deleted`.
  var state: String
  var email: String?
  var name: String
  var identityIssuer: String?
  var guest: Bool
  var hasPassword: Bool
  var createdAt: String
  var createdAtEpoch: Int64
  var closedAt: String?

  init(_ record: AccountRecord) {
    id = record.id.rawValue
    state = record.state.rawValue
    email = record.email?.typed
    name = record.username
    identityIssuer = record.identity?.issuer
    guest = record.isGuest && record.state != .deleted
    hasPassword = record.passwordHash != nil
    createdAt = record.createdAt.description
    createdAtEpoch = record.createdAt.seconds
    closedAt = record.closedAt?.description
  }

  /// For people.
  var rows: [[String]] {
    [
      ["account", id], ["state", state + (closedAt.map { ", since \($0)" } ?? "")], ["email", email ?? "-"],
      ["name", name], ["password", hasPassword ? "yes" : "no"], ["created", createdAt],
    ] + (identityIssuer.map { [["signs in at", $0]] } ?? [])
  }
}

/// A session, for programs.
struct SessionItem: Encodable {
  var id: String
  var deviceName: String
  var platform: String
  /// The OAuth client; `nil` for the server's own app.
  var client: String?
  var createdAt: String
  var createdAtEpoch: Int64
  var lastSeenAt: String
  var lastSeenAtEpoch: Int64
  var expiresAt: String?

  init(_ row: SessionRow) {
    id = row.id.rawValue
    deviceName = row.device.name
    platform = row.device.platform
    client = row.client?.id
    createdAt = row.createdAt.description
    createdAtEpoch = row.createdAt.seconds
    lastSeenAt = row.lastSeenAt.description
    lastSeenAtEpoch = row.lastSeenAt.seconds
    expiresAt = row.expiry?.description
  }

  /// For people.
  static func table(_ rows: [SessionRow]) -> Table {
    let items = rows.map { SessionItem($0) }
    return Table(
      rows: [["SESSION", "DEVICE", "PLATFORM", "SIGNED IN", "LAST SEEN"]]
        + items.map { [$0.id, $0.deviceName, $0.platform, $0.createdAt, $0.lastSeenAt] })
  }
}

/// A code that sets a password, for programs.
struct CodeItem: Encodable {
  var code: String
  var link: String?
  var expiresAt: String
  var expiresAtEpoch: Int64

  init(_ code: ResetCode) {
    self.code = code.code.withExposed { $0 }
    link = code.link?.withExposed { $0 }
    expiresAt = code.expiresAt.description
    expiresAtEpoch = code.expiresAt.seconds
  }
}

extension ResetCode {
  /// For people.
  var rows: [[String]] {
    let item = CodeItem(self)
    // Without its address, the page of the server.
    let link = item.link ?? "the server's address and /reset-password?token=\(item.code)"
    return [["code", item.code], ["link", link], ["expires", item.expiresAt]]
  }
}

/// The output of `accounts create` and `accounts reset`.
struct AccountAnswer: Document {
  var account: AccountItem
  var reset: CodeItem?
}

/// The output of commands that change an account.
struct ChangeAnswer: Document {
  var account: String
  /// How many sessions ended; `nil` if the change ends none.
  var ended: Int?

  /// Changes the account that `named` names, and says so.
  static func run(
    _ named: NamedAccount, _ options: AdminOptions, _ output: OutputOptions, done: String,
    _ change: (Administration, AccountID) async throws -> Int?
  ) async throws(CommandError) {
    let answer = try await options.administering { administration in
      let id = try await administration.account(named: named).id
      return ChangeAnswer(account: id.rawValue, ended: try await change(administration, id))
    }
    if output.json { return answer.writeLine() }
    Terminal.say("\(done) \(named.account)" + (answer.ended.map { ", ended \($0) session(s)" } ?? ""))
  }
}
#endif
