#if Operator
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer

extension AccountRecord {
  static var columns: [Column<AccountRecord>] {
    AccountField.shown(in: .command).map { name, field in
      Column(name.description, as: field.names[.column]?.description, shown: { field.value($0).text ?? "-" }) {
        account -> AccountField.Value? in
        let value = field.value(account)
        return value.text == nil ? nil : value
      }
    }
  }

  /// For programs.
  var object: JSONObject { JSONObject(self, AccountRecord.columns) }

  /// For people.
  var rows: [[String]] {
    AccountField.shown(in: .row).compactMap { name, field -> [String]? in
      // One that the list has, too, has the same dash there.
      guard let text = field.value(self).text ?? field.names[.column].map({ _ in "-" }) else { return nil }
      let since = field.property == "closedAt" ? closedAt.map { ", since \($0)" } ?? "" : ""
      return [name.description, text + since]
    }
  }
}

extension ListedSessions {
  var columns: [Column<SessionRow>] {
    [
      Column("id", as: "SESSION", \.id.rawValue),
      Column("deviceName", as: "DEVICE", \.device.name),
      Column("platform", as: "PLATFORM", \.device.platform),
      // `nil` for the server's own app.
      Column("client", \.client?.id),
      Column(
        "clientMissing", as: "CLIENT",
        shown: { lacking.contains($0.id) ? "client missing" : $0.client?.id ?? "-" }, { lacking.contains($0.id) }),
      Column("address", as: "FROM") { addresses[$0.id] },
      Column("createdAt", as: "SIGNED IN", \.createdAt.description),
      Column("createdAtEpoch", \.createdAt.seconds),
      Column("lastSeenAt", as: "LAST SEEN", \.lastSeenAt.description),
      Column("lastSeenAtEpoch", \.lastSeenAt.seconds),
      Column("expiresAt", \.expiry?.description),
    ]
  }
}

extension ResetCode {
  /// For programs.
  var object: JSONObject {
    [
      "code": code.withExposed { $0 }, "link": link?.withExposed { $0 }, "expiresAt": expiresAt.description,
      "expiresAtEpoch": expiresAt.seconds,
    ]
  }

  /// For people.
  var rows: [[String]] {
    let code = code.withExposed { $0 }
    // Without its address, the page of the server.
    let link = link?.withExposed { $0 } ?? "the server's address and /reset-password?token=\(code)"
    return [["code", code], ["link", link], ["expires", expiresAt.description]]
  }
}

extension AdminOptions {
  /// Changes the account that `named` names, and says so.
  ///
  /// - Parameter change: returns how many sessions ended; `nil` if the change ends none.
  func change(
    _ named: NamedAccount, _ output: OutputOptions, done: String,
    _ change: (Administration, AccountID) async throws -> Int?
  ) async throws(CommandError) {
    let (id, ended) = try await administering(named) { ($1.id.rawValue, try await change($0, $1.id)) }
    output.write(
      ["account": id, "ended": ended],
      or: "\(done) \(named.account)" + (ended.map { ", ended \($0) session(s)" } ?? ""))
  }
}
#endif
