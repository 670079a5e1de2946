#if Command
import ArgumentParser
import HandstampCore
import HandstampRegistry
import HandstampServer

extension AdminAccounts {
  /// `handstamp admin accounts take-back`.
  struct TakeBack: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "take-back", abstract: "remove every way into an account, and print a code for its owner",
      discussion: """
        for an owner whose account a stranger uses: ends its sessions, removes its password, passkeys, recovery codes, consents and
        known devices, and voids links and codes that wait to be used; the code sets a new password, once, within 30 minutes
        """)

    @OptionGroup var named: NamedAccount
    @Option(help: "the owner's address, if the stranger has changed it") var email: String?
    @OptionGroup var link: LinkOptions
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      var schemaVersion = 1
      var account: String
      var ended: Int
      var reset: CodeItem
    }

    func run() async throws {
      let (id, taken) = try await options.administering(link: link.mailLink) {
        administration throws(AdministrationError) in
        let id = try await administration.account(named: named).id
        return (id, try await administration.takeBack(id, email: email))
      }
      if output.json {
        return Answer(account: id.rawValue, ended: taken.ended, reset: CodeItem(taken.code)).writeLine()
      }
      for line in Table(rows: [["sessions ended", "\(taken.ended)"]] + taken.code.rows).lines { Terminal.out(line) }
    }
  }
}
#endif
