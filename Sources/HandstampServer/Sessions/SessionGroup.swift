#if Server
import HandstampCore
import HandstampRegistry

/// The sessions that a list of devices shows as one: the sign-ins in browsers of one name, or at one application.
///
/// For showing alone: each session has its own limits and its own end. A device of the server's own app is a group of its own, for another
/// one may have the same name.
struct SessionGroup: Sendable {
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
        groups.append(SessionGroup(rows: [row]))
      }
    }
    return groups
  }
}
#endif
