#if Programs
import ArgumentParser
import HandstampCore
import HandstampVaults

/// `handstamp switch`.
struct Switch: SessionCommand {
  static let configuration = CommandConfiguration(
    abstract: "makes another account the active one, for every process of this device at once",
    discussion: """
      with --here it is used in this folder and below it, whichever account is the active one; --here without an account
      forgets what was set for this folder
      """)

  @Argument(help: "the account, by name, tag or id", completion: .accounts) var account: String?
  @Flag(help: "for this folder, and all below it") var here = false
  @OptionGroup var manner: Manner

  func perform() async throws {
    try EnvironmentToken.refuse(to: "switch")
    try EnvironmentAccount.refuse(to: "switch")
    let home = try Home.current()
    let book = try await AccountBook(of: home)
    guard let name = account else { return try forget(in: home, book) }
    let account = try book.account(name)
    if here {
      let folder = try Switch.folder()
      try FolderRules(of: home).set(FolderRules.Rule(folder: folder, account: account.id))
      Terminal.say("\(account.words) is used in \(folder) and below it")
    } else {
      try await book.edit(.activate(account.id))
      Terminal.say("\(account.words) is the active account")
      FolderRules(of: home).sayOther(than: account.id)
    }
    guard case .value(let entry) = await home.vault(of: account.id).read(), entry.session != nil else {
      Terminal.say("nobody is signed in there; sign in with: handstamp login")
      return
    }
  }

  func validate() throws {
    guard account != nil || here else { throw ValidationError("which account is not said") }
  }

  private func forget(in home: Home, _ book: AccountBook) throws(Refusal) {
    let folder = try Switch.folder()
    let wasSet = try FolderRules(of: home).remove(of: folder)
    Terminal.say(wasSet ? "forgot the account of \(folder)" : "no account is set for \(folder)")
    if let account = try book.usual() { Terminal.say("\(account.words) is used here") }
  }

  private static func folder() throws(Refusal) -> String {
    guard let folder = FolderRules.here else {
      throw Refusal(.failure, "the current folder is not there any more", hint: "go to another one")
    }
    return folder
  }
}
#endif
