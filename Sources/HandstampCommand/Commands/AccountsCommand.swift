#if Command
import ArgumentParser
import Foundation
import HandstampCore
import HandstampVaults

struct AccountsCommand: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "accounts", abstract: "list the accounts on this device",
    discussion: "marks the active one with a *; contacts no server")

  @OptionGroup var output: OutputOptions

  struct Answer: Document {
    struct Item: Encodable {
      var id: String
      var name: String
      var tag: String?
      var server: String
      var active: Bool
      /// As in `status`.
      var state: StatusReport.State
      var reason: String?
      /// The account's ID and display name at the server; `nil` while signed out.
      var account: StatusReport.Account?
      var session: String?
      var pendingEnds: Int
      var addedAt: String
      var addedAtEpoch: Int64
    }
    /// The ID of the active account.
    var active: String?
    /// The ID of the account set for this folder, if any.
    var here: String?
    var accounts: [Item]
  }

  func perform(in installation: Installation) async throws {
    let book = try await installation.book()
    let home = book.home
    let rule = try FolderRules(of: home).current()
    let now = SystemClock().now()
    var items: [Answer.Item] = []
    var rows = [["", "NAME", "TAG", "SERVER", "STATE", "ID"]]
    for account in book.accounts {
      let report = StatusReport(
        home: home, account: account, reading: await home.vault(of: account.id).read(), now: now)
      let isActive = account.id == book.list.active
      items.append(Answer.Item(account, isActive: isActive, report))
      rows.append([
        isActive ? "*" : "", account.shownName, account.tag ?? "-", account.serverAddress.text, report.stateWords,
        report.account?.id ?? account.idAtServer.rawValue,
      ])
    }
    let hidden = await CommandError.hidden(in: home)
    if output.json {
      Answer(active: book.list.active?.rawValue, here: rule?.account.rawValue, accounts: items).writeLine()
    } else if items.isEmpty {
      if hidden == nil { Terminal.say("no accounts on this device") }
    } else {
      Table(rows: rows).write()
    }
    if let named = EnvironmentAccount.current {
      Terminal.say("using \(named), from \(EnvironmentAccount.name)")
    } else if let rule {
      let account = book.list[rule.account].map { $0.handle(among: book.accounts) } ?? "a removed account"
      Terminal.say("\(rule.folder) and its subfolders use \(account)")
    }
    if let hidden { throw hidden }
  }
}

extension AccountsCommand.Answer.Item {
  fileprivate init(_ account: ListedAccount, isActive: Bool, _ report: StatusReport) {
    self.init(
      id: account.id.rawValue, name: account.name, tag: account.tag, server: account.serverAddress.text,
      active: isActive,
      state: report.state, reason: report.reason, account: report.account, session: report.session,
      pendingEnds: report.pendingEnds, addedAt: account.addedAt.description, addedAtEpoch: account.addedAt.seconds)
  }
}
#endif
