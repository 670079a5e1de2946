#if Server
import Crypto
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// The sessions that a list of devices shows as one: the sign-ins in browsers of one name, or at one application.
///
/// For showing alone: each session has its own limits and its own end. A device of the server's own app is a group of its own, for another
/// one may have the same name.
struct SessionGroup: Sendable {
  private let key: Key
  /// In the order of the list; never empty.
  private(set) var rows: [SessionRow]

  private enum Key: Hashable {
    case session(SessionID), device(DeviceID), browser(String), client(String)

    init(_ row: SessionRow, current: SessionID) {
      if row.id == current || row.device.id.rawValue.isEmpty {
        self = .session(row.id)
      } else if let client = row.client {
        self = .client(client.id)
      } else {
        self = row.kind == .browser ? .browser(row.device.name) : .device(row.device.id)
      }
    }
  }

  /// Names it on a page of the account: the same for a session that joins it, and after the end of its first one. A hash, because the
  /// ID of a device is its secret.
  func id(of account: AccountID) -> String {
    let text =
      switch key {
      case .session(let id): "session \(id.rawValue)"
      case .device(let id): "device \(id.rawValue)"
      case .browser(let name): "browser \(name)"
      case .client(let id): "client \(id)"
      }
    let hash = SHA256.hash(data: Array("handstamp group \(account.rawValue) \(text)".utf8))
    return Base64URL.encode(hash.prefix(12))
  }

  /// Returns the groups of live sessions, each at the place of its first one.
  ///
  /// - Parameter current: the session of the reader, which stays alone.
  static func groups(of rows: [SessionRow], current: SessionID) -> [SessionGroup] {
    var (groups, places): ([SessionGroup], [Key: Int]) = ([], [:])
    for row in rows {
      let key = Key(row, current: current)
      if let place = places[key] {
        groups[place].rows.append(row)
      } else {
        places[key] = groups.count
        groups.append(SessionGroup(key: key, rows: [row]))
      }
    }
    return groups
  }
}
#endif
