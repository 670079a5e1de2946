#if Programs
import Foundation
import Handstamp
import HandstampCore
import HandstampVaults

/// One account at one server, as this installation knows it. Its id names its vault.
struct Account: Sendable, Hashable {
  /// Server and account together, so that no server can name another one's account. An installation that is older than the
  /// list has one vault per server, named by the server alone.
  let id: AccountID
  let server: ServerAddress
  /// What people call it: the address that was typed at sign-in, else its name at the server.
  var name: String
  var tag: String?
  var addedAt: UnixTime
  /// What was written after `--account` to choose it; nothing where it is the active one.
  var namedAs: String?

  init(id: AccountID, server: ServerAddress, name: String, tag: String? = nil, addedAt: UnixTime) {
    self.id = id
    self.server = server
    self.name = name
    self.tag = tag
    self.addedAt = addedAt
  }

  /// Nothing for one of whose server nobody knows.
  init?(_ listed: ListedAccount) {
    guard let text = listed.server, let server = try? ServerAddress(parsing: text, allowingClearText: true) else {
      return nil
    }
    self.init(id: listed.id, server: server, name: listed.name, tag: listed.tag, addedAt: listed.addedAt)
  }

  var listed: ListedAccount {
    ListedAccount(id: id, name: name, tag: tag, server: server.text, addedAt: addedAt)
  }

  /// The id of an account that `server` calls `account`. A server's address holds no `#`.
  static func id(of account: AccountID, at server: ServerAddress) -> AccountID {
    AccountID("\(server.text)#\(account.rawValue)")
  }

  /// The id of the one account of an older installation.
  static func soleID(at server: ServerAddress) -> AccountID { AccountID(server.text) }

  /// What the server calls it; nothing where only its vault knows.
  var idAtServer: String? {
    id.rawValue.hasPrefix(server.text + "#") ? String(id.rawValue.dropFirst(server.text.count + 1)) : nil
  }

  /// For people: the name, and its server where that is needed to tell it from others.
  var words: String { "\(name) at \(server.text)" }

  /// What names it on a command line, in the shortest way.
  func handle(among all: [Account]) -> String {
    if let tag { return tag }
    let isAlone = all.count { $0.name.lowercased() == name.lowercased() } == 1
    return isAlone ? name : idAtServer ?? id.rawValue
  }
}
#endif
