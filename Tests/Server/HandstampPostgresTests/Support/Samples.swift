#if PostgreSQL
import HandstampCore
import HandstampRegistry
import HandstampTesting

enum Samples {
  static let account = FormatSamples.account
  static let ada = account.id
  static let start = FormatSamples.start

  /// A session of Ada's on a device of its own.
  static func session(_ number: UInt64) -> SessionRow { FormatSamples.session(number) }

  static func established(_ row: SessionRow) -> RegistryEvent {
    RegistryEvent(kind: .sessionEstablished, account: row.account, session: row.id, at: start)
  }
}
#endif
