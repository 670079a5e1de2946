import HandstampCore
import HandstampRegistry

/// Rows and records of many shapes.
enum RegistrySamples {
  static let ada = AccountID("ada")
  static let bob = AccountID("bob")
  static let start = UnixTime(milliseconds: 1_795_226_288_123)

  static func session(
    _ number: UInt8, of account: AccountID = ada, device: String? = nil, client: SessionClient? = nil,
    at: UnixTime = start
  ) -> SessionRow {
    SessionRow(
      session: bytes(number), account: account,
      device: DeviceInfo(id: DeviceID(device ?? "device \(number)"), name: "Phone", platform: "ios"), kind: .keyed,
      client: client, createdAt: at)
  }

  /// A browser's session with both limits and its own times, on a device of its own.
  static func timed(
    _ number: Int, made: UnixTime, rotated: UnixTime, seen: UnixTime, ended: UnixTime? = nil
  ) -> SessionRow {
    var row = SessionRow(
      session: bytes(UInt8(100 + number)), account: ada,
      device: DeviceInfo(id: DeviceID("timed \(number)"), name: "Phone", platform: "ios"), kind: .browser, counter: 1,
      createdAt: made, rotatedAt: rotated, lastSeenAt: seen, absoluteExpiry: made.advanced(by: .seconds(3000)),
      idleLimit: .seconds(500))
    row.cookies = CookieRange(oldest: 0, provenAt: made)
    row.end = ended.map { SessionEnd(at: $0, reason: .revoked) }
    return row
  }

  /// Sixteen bytes derived from a number.
  static func bytes(_ number: UInt8) -> SessionBytes {
    var source = Counting(count: UInt64(number) << 32)
    return SessionBytes(from: &source)
  }

  static func account(_ id: AccountID, email: String? = nil) -> AccountRecord {
    AccountRecord(
      id: id, email: EmailAddress(email ?? "\(id)@example.org"), username: "\(id)",
      passwordHash: Secret("hash of \(id)"),
      createdAt: start)
  }

  static func event(_ number: Int, of account: AccountID = ada, _ kind: RegistryEvent.Kind = .sessionRevoked)
    -> RegistryEvent
  {
    RegistryEvent(
      kind: kind, account: account, session: SessionID("session \(number)"), reason: .replaced,
      at: start.advanced(by: .milliseconds(number)))
  }

  static func oneTimeToken(
    _ number: Int, _ purpose: OneTimeTokenRecord.Purpose = .passwordReset, subject: String = "ada",
    lasting: Duration = .seconds(60),
    at time: UnixTime = start
  ) -> OneTimeTokenRecord {
    OneTimeTokenRecord(
      id: OneTimeTokenID(of: Secret("secret \(number)"), purpose: purpose), purpose: purpose, subject: subject,
      account: ada,
      createdAt: time, expiresAt: time.advanced(by: lasting))
  }

  static func item(
    _ number: Int, _ kind: StoredItem.Kind = .device, subject: String = "", lasting: Duration = .seconds(600),
    at time: UnixTime = start, due: UnixTime? = nil
  ) -> StoredItem {
    StoredItem(
      id: StoredItemID(kind, "item \(number)"), kind: kind, subject: subject, createdAt: time, dueAt: due,
      expiresAt: time.advanced(by: lasting))
  }

  /// Every optional field with and without a value, every reason, the limits of every range, and texts that break
  /// concatenated queries.
  static var oddSessions: [SessionRow] {
    var full = KeyRing()
    for number in 0..<UInt64(KeyRing.size) {
      full.append(
        number % 5 == 3 ? .unknown : .drawn(KeyMark(rawValue: number &* 0x9E37_79B9_7F4A_7C15)))
    }
    let odd = DeviceInfo(
      id: DeviceID("'; DROP TABLE session; --"), name: "Zoë’s 📱 \"%s\" \\ %_?", platform: "")
    var rows = [
      session(1),
      SessionRow(
        session: bytes(2), account: ada, device: odd, kind: .plain,
        client: SessionClient(id: "'; --", scope: "read \"📱\"", audience: "https://api.example.org"), counter: 1 << 55,
        ring: full, createdAt: start,
        authenticatedAt: start.advanced(by: .milliseconds(501)),
        methods: AuthenticationMethods(text: "swk user mfa ';", asked: .multiFactor),
        rotatedAt: start.advanced(by: .seconds(1)),
        lastSeenAt: start.advanced(by: .milliseconds(2001)),
        absoluteExpiry: start.advanced(by: .seconds(86_400)), idleLimit: .milliseconds(3_600_001),
        dpopThumbprint: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I", pushToken: Secret("push '; -- 📱")),
      SessionRow(
        session: bytes(3), account: ada, device: session(3).device, kind: .keyed, persistence: .ephemeral,
        client: SessionClient(id: "app", scope: "", browser: DeviceID("browser '; --")), counter: 2,
        ring: ring(.keyed(.zero), .drawn(KeyMark(rawValue: .max))), createdAt: UnixTime(milliseconds: -1),
        lastSeenAt: UnixTime(milliseconds: 0), absoluteExpiry: UnixTime(milliseconds: .max)),
    ]
    var browser = SessionRow(
      session: bytes(4), account: ada, device: session(4).device, kind: .browser, counter: 7, createdAt: start)
    browser.cookies = CookieRange(oldest: 6, provenAt: UnixTime(milliseconds: -1), isReplaced: true)
    rows.append(browser)
    for (offset, reason) in EndReason.allCases.enumerated() {
      var row = session(UInt8(10 + offset), device: "one device")
      row.end = SessionEnd(at: start.advanced(by: .seconds(Int64(offset))), reason: reason)
      rows.append(row)
    }
    return rows
  }

  static func ring(_ entries: KeyRing.Entry...) -> KeyRing { KeyRing(entries) }

  private struct Counting: RandomNumberGenerator {
    var count: UInt64
    mutating func next() -> UInt64 {
      count += 1
      return count
    }
  }
}

extension KeyRing {
  fileprivate mutating func append(_ entry: Entry) { self = KeyRing(entries + [entry]) }
}
