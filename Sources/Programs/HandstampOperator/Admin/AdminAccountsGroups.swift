#if Operator
import ArgumentParser
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampServer

extension AdminAccounts {
  struct Groups: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "groups", abstract: "show an account's groups, or change them",
      discussion: """
        clients with the scope "groups" get the names in ID tokens and userinfo,
        from the next token on; the server itself attaches no rights to them
        """)

    @OptionGroup var named: NamedAccount
    @Option(help: "put the account into this group; may be repeated") var add: [String] = []
    @Option(help: "take the account out of this group; may be repeated") var remove: [String] = []
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
      if let name = add.first(where: remove.contains) {
        throw CommandError(
          .usage, plain("--add \(name) and --remove \(name) contradict each other"), hint: "leave out one of them")
      }
      let (id, groups) = try await options.administering(named) { administration, account in
        let id = account.id
        guard !add.isEmpty || !remove.isEmpty else { return (id, try await administration.groups(of: id)) }
        return (id, try await administration.changeGroups(of: id) { $0 = $0.subtracting(remove).union(add) })
      }
      if output.json { return Terminal.out(json: ["account": id.rawValue, "groups": groups]) }
      guard !groups.isEmpty else { return Terminal.say("in no group") }
      for group in groups { Terminal.out(group) }
    }
  }
}
#endif
