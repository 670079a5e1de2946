public import HandstampCore

/// A client that is still to be told that a session has ended (OpenID Connect Back-Channel Logout 1.0).
package struct LogoutJob: StoredJob {
  package static let kind = StoredItem.Kind.logout
  /// How long a failed job is kept after it was given up, for operators to see.
  private static let memory = Duration.seconds(7 * 86_400)

  package let client: String
  package let account: AccountID
  package let session: SessionID
  package var tries = JobTries()
  /// Whether no further attempt is made.
  package var isGivenUp = false

  package mutating func giveUp() { isGivenUp = true }

  /// The change that stores the job; none for a session that no OpenID Connect client has.
  package static func changes(for row: SessionRow, now: UnixTime) -> [RegistryChange] {
    guard let client = row.client, client.scopes.contains("openid") else { return [] }
    let job = LogoutJob(client: client.id, account: row.account, session: row.id)
    // Put, not created: it must not be what an end of a session fails for.
    let item = StoredItem(
      id: StoredItemID(.logout, row.id.rawValue), kind: .logout, subject: client.id, payload: PayloadCoding.text(job),
      createdAt: now, dueAt: now, expiresAt: now.advanced(by: memory))
    return [.putItem(item)]
  }
}

extension LogoutJob {
  package var fields: [String: String?] {
    tries.fields.merging(
      [
        "client": client, "account": account.rawValue, "session": session.rawValue, "over": isGivenUp ? "1" : nil,
      ]) { $1 }
  }

  package init?(fields: [String: String]) {
    guard let client = fields["client"], let account = fields["account"], let session = fields["session"],
      let tries = JobTries(fields: fields)
    else { return nil }
    self.init(
      client: client, account: AccountID(account), session: SessionID(session), tries: tries,
      isGivenUp: fields["over"] != nil)
  }
}

/// A logout that a client was not told of yet, as operators see it.
public struct WaitingLogout: Sendable, Hashable {
  public let client: String
  public let session: SessionID
  public let endedAt: UnixTime
  /// How often the client could not be told.
  public let failures: Int
  /// When the next attempt is made; `nil` if it was given up.
  public let nextAt: UnixTime?
  /// Why the last attempt failed; `nil` before the first one.
  public let failure: String?
}

extension Registry {
  /// Returns the logouts that a client was not told of yet, the oldest first.
  public func waitingLogouts(of client: String, now: UnixTime) async throws(RegistryError) -> [WaitingLogout] {
    try await liveItems(.logout, of: client, now: now).compactMap { item in
      PayloadCoding.value(LogoutJob.self, item.payload).map { job in
        WaitingLogout(
          client: job.client, session: job.session, endedAt: item.createdAt, failures: job.tries.failures,
          nextAt: item.dueAt, failure: job.tries.failure)
      }
    }
  }
}
