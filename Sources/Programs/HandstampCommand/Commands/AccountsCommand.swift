#if Command
import ArgumentParser
import Foundation
import Handstamp
import HandstampCommandLine

struct AccountsCommand: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "accounts", abstract: "list the accounts on this device",
    discussion: "marks the active one with a *; contacts no server")

  @OptionGroup var output: OutputOptions

  private struct Item {
    var account: ListedAccount
    var isActive: Bool
    var report: StatusReport

    static var columns: [Column<Item>] {
      [
        Column("active", as: "", shown: { $0.isActive ? "*" : "" }, \.isActive),
        Column("name", as: "NAME", shown: { $0.account.shownName }, \.account.name),
        Column("tag", as: "TAG", \.account.tag),
        Column("server", as: "SERVER", \.account.serverAddress.text),
        // As in `status`.
        Column("state", as: "STATE", shown: { $0.report.stateWords }, \.report.state),
        Column("reason", \.report.reason),
        Column(
          "id", as: "ID", shown: { $0.report.account?.id ?? $0.account.idAtServer.rawValue }, \.account.id.rawValue),
        // The account's ID and display name at the server; `nil` while signed out.
        Column("account", \.report.account),
        Column("session", \.report.session),
        Column("pendingEnds", \.report.pendingEnds),
        Column("addedAt", \.account.addedAt.description),
        Column("addedAtEpoch", \.account.addedAt.seconds),
      ]
    }
  }

  func perform(in installation: Installation) async throws {
    let known = try await installation.knownAccounts()
    let home = known.home
    let rule = try FolderRules(of: home).current()
    let now = SystemClock().now()
    var items: [Item] = []
    for account in known.accounts {
      let report = StatusReport(
        home: home, account: account, reading: await home.vault(of: account.id).read(), now: now)
      items.append(Item(account: account, isActive: account.id == known.list.active, report: report))
    }
    let hidden = await CommandError.hidden(in: home)
    if output.json {
      // The IDs of the active account, and of the one set for this folder, if any.
      Terminal.out(json: [
        "active": known.list.active?.rawValue, "here": rule?.account.rawValue, "accounts": items.objects(Item.columns),
      ])
    } else if items.isEmpty {
      if hidden == nil { Terminal.say("no accounts on this device") }
    } else {
      Table(items, Item.columns).write()
    }
    if let named = EnvironmentAccount.current {
      Terminal.say("using \(named), from \(EnvironmentAccount.name)")
    } else if let rule {
      let account = known.list[rule.account].map { $0.handle(among: known.accounts) } ?? "a removed account"
      Terminal.say("\(rule.folder) and its subfolders use \(account)")
    }
    if let hidden { throw hidden }
  }
}
#endif
