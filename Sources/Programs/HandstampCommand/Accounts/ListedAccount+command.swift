#if Command
import Handstamp
import HandstampCommandLine

/// An account at a server, as known to this installation. Its ID determines its vault, and combines server and account, so that
/// no server can name another one's account.
extension ListedAccount {
  /// An account that is known by its ID only, such as a removed one; `nil` if the ID names no valid server.
  init?(of id: AccountID) {
    guard let server = ServerAddress(of: id) else { return nil }
    self.init(id: id, name: "", server: server.text, addedAt: UnixTime(milliseconds: 0))
    name = idAtServer.rawValue
  }

  /// The server's URL. Invalid only in a list that was changed by hand, see ``isUsable``.
  var serverAddress: ServerAddress { ServerAddress(listed: server ?? "") }

  /// Whether the account has a valid server.
  var isUsable: Bool { server.flatMap { try? ServerAddress(parsing: $0, allowingClearText: true) } != nil }

  /// The name, or the ID for an account without one, such as a guest's.
  var shownName: String { name.isEmpty ? idAtServer.rawValue : name }

  /// The name and the server, for messages.
  var words: String { "\(shownName) at \(serverAddress.text)" }

  /// Returns the shortest name for it on a command line.
  func handle(among all: [ListedAccount]) -> String {
    if let tag { return tag }
    let isAlone = all.count { $0.name.lowercased() == name.lowercased() } == 1
    return isAlone && !name.isEmpty ? name : idAtServer.rawValue
  }
}
#endif
