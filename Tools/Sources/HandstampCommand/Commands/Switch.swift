import ArgumentParser
import HandstampCore
import HandstampVaults

/// `handstamp switch`.
struct Switch: SessionCommand {
  static let configuration = CommandConfiguration(
    abstract: "makes another account the active one, for every process of this device at once")

  @Argument(help: "the account, by name, tag or id", completion: .accounts) var account: String
  @OptionGroup var manner: Manner

  func perform() async throws {
    try EnvironmentToken.refuse(to: "switch")
    try EnvironmentAccount.refuse(to: "switch")
    let home = try Home.current()
    let book = try await AccountBook(of: home)
    let account = try book.account(account)
    try await book.edit(.activate(account.id))
    Terminal.say("\(account.words) is the active account")
    guard case .value(let entry) = await home.vault(of: account.id).read(), entry.session != nil else {
      Terminal.say("nobody is signed in there; sign in with: handstamp login")
      return
    }
  }
}
