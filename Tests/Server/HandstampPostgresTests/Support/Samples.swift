#if PostgreSQL
import HandstampCore
import HandstampRegistry

enum Samples {
  static let ada = AccountID("ada")
  static let start = UnixTime(seconds: 1_800_000_000)
  static let account = AccountRecord(
    id: ada, email: EmailAddress("ada@example.org"), username: "Ada", passwordHash: nil, createdAt: start)

  /// A session of Ada's on a device of its own.
  static func session(_ number: UInt64) -> SessionRow {
    var random = Numbers(base: number &* 2)
    return SessionRow(
      session: SessionBytes(from: &random), account: ada,
      device: DeviceInfo(id: DeviceID("d\(number)"), name: "Phone", platform: "ios"), kind: .keyed, createdAt: start,
      absoluteExpiry: start.advanced(by: .seconds(1000)), idleLimit: .seconds(500))
  }

  static func established(_ row: SessionRow) -> RegistryEvent {
    RegistryEvent(kind: .sessionEstablished, account: row.account, session: row.id, at: start)
  }
}

/// Each even base yields two consecutive words.
private struct Numbers: RandomNumberGenerator {
  var base: UInt64
  mutating func next() -> UInt64 {
    base += 1
    return base &* 0x9E37_79B9_7F4A_7C15
  }
}
#endif
