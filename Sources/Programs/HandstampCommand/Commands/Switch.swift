#if Command
import ArgumentParser
import Handstamp
import HandstampCommandLine

struct Switch: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "switch", abstract: "make another account the active one, for every process on this device",
    discussion: """
      with --here, the account is used in this folder and its subfolders,
      whichever account is active; --here without an account clears the folder's
      setting
      """)

  @Argument(help: "account, by name, tag or ID", completion: .accounts) var account: String?
  @Flag(help: "apply to this folder and its subfolders") var here = false
  @OptionGroup var quietOption: QuietOption

  func perform(in installation: Installation) async throws {
    try EnvironmentToken.refuse(to: "switch")
    try EnvironmentAccount.refuse(to: "switch")
    let known = try await installation.knownAccounts()
    let home = known.home
    guard let name = account else { return try forget(in: known) }
    let account = try known.account(name)
    if here {
      let folder = try Switch.folder()
      try FolderRules(of: home).set(FolderRules.Rule(folder: folder, account: account.id))
      Terminal.say("\(folder) and its subfolders now use \(account.words)")
    } else {
      try await Accounts(of: home).use(account)
      Terminal.say("\(account.words) is now the active account")
      FolderRules(of: home).sayOther(than: account.id)
    }
    if await home.vault(of: account.id).session == nil { Terminal.say("not signed in to it; run: handstamp login") }
  }

  func validate() throws {
    guard account != nil || here else { throw ValidationError("missing account") }
  }

  private func forget(in known: KnownAccounts) throws(CommandError) {
    let folder = try Switch.folder()
    let wasSet = try FolderRules(of: known.home).remove(of: folder)
    Terminal.say(wasSet ? "cleared the account for \(folder)" : "no account is set for \(folder)")
    if let account = try known.choice().account { Terminal.say("this folder now uses \(account.words)") }
  }

  private static func folder() throws(CommandError) -> String {
    guard let folder = FolderRules.here else {
      throw CommandError(.failure, "the current folder no longer exists", hint: "change to another folder")
    }
    return folder
  }
}
#endif
