#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer

extension AdminAccounts {
  struct TakeBack: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "take-back", abstract: "remove every way into an account, and print a code for its owner",
      discussion: """
        for an owner whose account a stranger uses: ends its sessions, removes its
        password, authenticator app, passkeys, recovery codes, consents and known
        devices, and voids links and codes that wait to be used; the code sets a
        new password, once, within 30 minutes
        """)

    @OptionGroup var named: NamedAccount
    @Option(help: "the owner's address, if the stranger has changed it") var email: String?
    @OptionGroup var link: LinkOptions
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let (account, changed, taken) = try await options.administering(named, link: link.mailLink) {
        let changed = try await $0.lastAddressChange(of: $1.id)
        let taken = try await $0.takeBack($1.id, email: email)
        return (try await $0.account($1.id), changed, taken)
      }
      // That to which codes are mailed.
      let address = account.email?.typed
      if output.json {
        return Terminal.out(json: [
          "account": account.id.rawValue, "ended": taken.ended, "email": address,
          "emailChangedAt": changed?.description, "reset": taken.code.object,
        ])
      }
      let rows = [["sessions ended", "\(taken.ended)"], ["address", address ?? "-"]]
      Table(rows: rows + taken.code.rows).write()
      guard let changed, email == nil else { return }
      Terminal.say(
        "warning: that address is of \(changed), and its mails lead in again; if it is not the owner's, run this"
          + " again with --email")
    }
  }
}
#endif
