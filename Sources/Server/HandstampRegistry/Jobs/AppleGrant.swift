package import HandstampCore
import HandstampSupport

/// Apple's grant to the app for an account: the authorization code of a sign-in, which is exchanged for a refresh token while it is
/// good, and that token, which is revoked when the account is deleted (Apple's TN3194). The job waits until then; neither the sign-in
/// nor the deletion waits for Apple.
package struct AppleGrant: StoredJob {
  package static let kind = StoredItem.Kind.appleGrant
  /// How long a code is good.
  package static let codeLife = Duration.seconds(300)

  /// Apple's client: the app ID in the identity token.
  package let client: String
  /// Sealed; `nil` once it was exchanged.
  package var code: String?
  /// The refresh token, sealed; `nil` before.
  package var token: String?
  /// When the account was deleted; `nil` before.
  package var endedAt: UnixTime?
  package var tries = JobTries()

  /// A token that nothing is done with any more is not kept.
  package mutating func giveUp() { (code, token) = (nil, nil) }

  package var fields: [String: String?] {
    tries.fields.merging(
      ["client": client, "code": code, "token": token, "ended": endedAt.map { String($0.milliseconds) }]) { $1 }
  }

  package init?(fields: [String: String]) {
    guard let client = fields["client"], let tries = JobTries(fields: fields) else { return nil }
    self.init(client: client)
    (code, token, endedAt, self.tries) = (fields["code"], fields["token"], fields.time("ended"), tries)
  }

  package init(client: String) { self.client = client }

  static func id(of account: AccountID, client: String) -> StoredItemID {
    StoredItemID(.appleGrant, account.rawValue, client)
  }

  /// The item with its job due at once, for an account that is deleted; `nil` if there is nothing to revoke.
  static func ending(_ item: StoredItem, now: UnixTime) -> RegistryChange? {
    guard var job = PayloadCoding.value(AppleGrant.self, item.payload), job.code != nil || job.token != nil else {
      return nil
    }
    job.endedAt = now
    return .putItem(
      StoredItem(
        id: item.id, kind: item.kind, subject: item.subject, payload: PayloadCoding.text(job),
        createdAt: item.createdAt,
        // A code may be on its way to Apple: the worker has until then to note what it was exchanged for.
        dueAt: job.code == nil ? now : max(now, item.dueAt ?? now), expiresAt: item.expiresAt, revision: item.revision))
  }
}

extension Registry {
  /// Keeps the code of a sign-in with Apple, to be exchanged soon. A previous grant of the same account and client is replaced.
  package func keep(
    appleCode code: Secret, client: String, of account: AccountID, now: UnixTime
  ) async throws(RegistryError) {
    let id = AppleGrant.id(of: account, client: client)
    var job = AppleGrant(client: client)
    job.code = try mint.seal(code, for: .appleGrant, boundTo: Base64URL.encode(id.bytes))
    let item = StoredItem(
      id: id, kind: .appleGrant, subject: account.rawValue, payload: PayloadCoding.text(job), createdAt: now,
      dueAt: now, expiresAt: now.advanced(by: StoredItem.forever))
    guard try await write([.putItem(item)], []) else { throw Registry.contention }
  }

  /// Notes the refresh token that a code was exchanged for.
  ///
  /// - Returns: the job as it is now; `nil` if it is another worker's. If the account was deleted meanwhile, the token is noted for that
  ///   one, which revokes it.
  package func note(
    appleToken token: Secret, in claimed: ClaimedJob<AppleGrant>
  ) async throws(RegistryError) -> ClaimedJob<AppleGrant>? {
    var claimed = claimed
    let code = claimed.job.code
    (claimed.job.code, claimed.job.tries.failures, claimed.job.tries.failure) = (nil, 0, nil)
    claimed.job.token = try mint.seal(token, for: .appleGrant, boundTo: claimed.context)
    let job = claimed.job
    if let noted = try await change(
      claimed,
      { item in
        item.payload = PayloadCoding.text(job)
        if job.endedAt == nil { item.dueAt = nil }
      })
    {
      return noted
    }
    // A deletion has kept the code, which is used up now.
    for _ in 0..<Registry.attempts {
      guard let stored = try await item(claimed.item.id),
        var ended = PayloadCoding.value(AppleGrant.self, stored.payload), ended.endedAt != nil, ended.code == code
      else { return nil }
      (ended.code, ended.token) = (nil, job.token)
      var next = stored
      next.payload = PayloadCoding.text(ended)
      if try await write([.replaceItem(next, expecting: stored.revision)], []) { return nil }
    }
    throw Registry.contention
  }

  /// Returns Apple's grants for an account, also for one that is deleted, until it is revoked.
  package func appleGrants(of account: AccountID) async throws(RegistryError) -> [StoredItem] {
    try await items(.appleGrant, of: account.rawValue)
  }
}
