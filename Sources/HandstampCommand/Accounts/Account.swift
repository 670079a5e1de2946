#if Command
import Foundation
import Handstamp
import HandstampCore
import HandstampVaults

/// An account at a server, as known to this installation. Its ID determines its vault.
struct Account: Sendable, Hashable {
  /// Server and account combined, so that no server can name another one's account.
  let id: AccountID
  let server: ServerAddress
  /// The name for people: the email address typed at sign-in, else its name at the server.
  var name: String
  var tag: String?
  var addedAt: UnixTime
  /// The value of `--account` that selected it; `nil` if it was not selected that way.
  var namedAs: String?

  init(id: AccountID, server: ServerAddress, name: String, tag: String? = nil, addedAt: UnixTime) {
    self.id = id
    self.server = server
    self.name = name
    self.tag = tag
    self.addedAt = addedAt
  }

  /// `nil` if the listed account has no valid server.
  init?(_ listed: ListedAccount) {
    guard let text = listed.server, let server = try? ServerAddress(parsing: text, allowingClearText: true) else {
      return nil
    }
    self.init(id: listed.id, server: server, name: listed.name, tag: listed.tag, addedAt: listed.addedAt)
  }

  /// An account that is known by its ID only, such as a removed one; `nil` if the ID names no valid server.
  init?(id: AccountID) {
    guard let server = ServerAddress(of: id) else { return nil }
    self.init(id: id, server: server, name: "", addedAt: UnixTime(milliseconds: 0))
    name = idAtServer
  }

  var listed: ListedAccount {
    ListedAccount(id: id, name: name, tag: tag, server: server.text, addedAt: addedAt)
  }

  /// Returns the ID for the account that `server` calls `account`.
  static func id(of account: AccountID, at server: ServerAddress) -> AccountID {
    ListedAccount.id(of: account, at: server.text)
  }

  /// The account's ID at the server.
  var idAtServer: String { listed.idAtServer.rawValue }

  /// The name and the server, for messages.
  var words: String { "\(name) at \(server.text)" }

  /// Returns the shortest name for it on a command line.
  func handle(among all: [Account]) -> String {
    if let tag { return tag }
    let isAlone = all.count { $0.name.lowercased() == name.lowercased() } == 1
    return isAlone ? name : idAtServer
  }
}
#endif
