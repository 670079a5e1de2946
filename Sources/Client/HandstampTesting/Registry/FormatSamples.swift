package import HandstampCore
package import HandstampRegistry

/// The rows of the stores in `Tests/Fixtures`.
package enum FormatSamples {
  package static let start = UnixTime(seconds: 1_800_000_000)
  package static let account = AccountRecord(
    id: AccountID("ada"), email: EmailAddress("ada@example.org"), username: "Ada", passwordHash: nil, createdAt: start,
    locale: LanguageTag(rawValue: "de-CH"))
  private static let item = StoredItem(
    id: StoredItemID(.device, "a"), kind: .device, subject: "ada", createdAt: start,
    expiresAt: start.advanced(by: .seconds(9)))
  private static let token = OneTimeTokenRecord(
    id: OneTimeTokenID(of: Secret("code"), purpose: .signUp), purpose: .signUp, subject: "ada@example.org",
    payload: "a=b", createdAt: start, expiresAt: start.advanced(by: .seconds(9)))
  private static let end = SessionEnd(at: start, reason: .revoked)

  /// A session of the account on a device of its own.
  package static func session(_ number: UInt64) -> SessionRow {
    var random = Numbers(base: number &* 2)
    return SessionRow(
      session: SessionBytes(from: &random), account: account.id,
      device: DeviceInfo(id: DeviceID("d\(number)"), name: "Phone", platform: "ios"), kind: .keyed, createdAt: start,
      absoluteExpiry: start.advanced(by: .seconds(1000)), idleLimit: .seconds(500))
  }

  /// A session of a client, and one of a browser that waits for its first use.
  private static var rows: [SessionRow] {
    let first = session(1)
    let app = SessionRow(
      session: first.session, account: first.account, device: first.device, kind: .keyed, persistence: .ephemeral,
      client: SessionClient(id: "app", scope: "openid", audience: "https://api.example.org", browser: DeviceID("b")),
      counter: 1, ring: KeyRing([.keyed(KeyMark(rawValue: 7))]), createdAt: start,
      methods: AuthenticationMethods(text: "pwd otp mfa", asked: .multiFactor), dpopThumbprint: "thumb",
      pushToken: Secret("push"))
    var browser = session(2)
    (browser.kind, browser.counter) = (.browser, 2)
    browser.cookies = CookieRange(oldest: 1, provenAt: start, isReplaced: true)
    browser.pending = PendingSession(canBeForgotten: true, replaces: [app.id])
    return [app, browser]
  }

  package static func write(to store: some RegistryStore) async throws(RegistryStoreError) {
    let ended = session(3)
    let event = RegistryEvent(kind: .sessionEstablished, account: account.id, session: ended.id, at: start)
    try await store.write(
      [
        .createAccount(account), .createItem(item), .createOneTimeToken(token), .noteClock(ClockNote(at: start)),
        .audit(AuditedAction(at: start, .accountCreated, by: .server())), .createSession(ended),
      ] + rows.map { .createSession($0) }, events: [event])
    try await store.write([.endSession(ended.id, end)], events: [])
  }

  /// Returns what the store does not have as it was written.
  package static func missing(in store: some RegistryStore) async throws(RegistryStoreError) -> [String] {
    var found = [
      "account": try await store.account(account.id) == account, "item": try await store.item(item.id) == item,
      "token": try await store.oneTimeToken(token.id) == token,
      "end": try await store.session(session(3).id)?.end == end, "clock": try await store.clockNote()?.at == start,
      "event": try await store.lastEventID() == EventID(rawValue: 1),
      "audit": try await store.auditedActions(after: 0, about: nil, limit: 9).map(\.audited.action)
        == ["account.created"],
    ]
    for row in rows { found["\(row.kind)"] = try await store.session(row.id) == row }
    return found.filter { !$0.value }.keys.sorted()
  }

  /// Each even base yields two consecutive words.
  private struct Numbers: RandomNumberGenerator {
    var base: UInt64
    mutating func next() -> UInt64 {
      base += 1
      return base &* 0x9E37_79B9_7F4A_7C15
    }
  }
}
