#if Programs
import ArgumentParser
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator

@Suite(.timeLimit(.minutes(10))) struct `A command that does not exist` {
  @Test(
    arguments: [
      (["tokn"], "tokn", "did you mean token? handstamp --help lists all"),
      (["--verbose", "tokn"], nil, nil), (["token", "--jsn"], nil, nil), ([], nil, nil),
      (["help", "tokn"], "tokn", "did you mean token? handstamp --help lists all"), (["help", "token"], nil, nil),
      (["admin", "acounts"], "admin acounts", "did you mean accounts? handstamp-server admin --help lists all"),
      (
        ["admin", "database", "bakup", "/b"], "admin database bakup",
        "did you mean backup? handstamp-server admin database --help lists all"
      ),
      (["dance"], "dance", "handstamp --help lists all"),
      (["key", "show"], nil, nil), (["admin", "accounts", "--data", "d"], nil, nil),
      (["admin", "accounts", "ada"], "admin accounts ada", "handstamp-server admin accounts --help lists all"),
    ] as [([String], String?, String?)])
  func `is refused with the nearest one`(arguments: [String], name: String?, hint: String?) {
    var refusal: CommandError?
    let isOperators = arguments.first == "admin"
    let root: any ParsableCommand.Type = isOperators ? HandstampServerTool.self : HandstampTool.self
    do throws(CommandError) { try NamedCommand(in: arguments, of: root).check() } catch { refusal = error }
    #expect(refusal?.message == name.map { "unknown command: \($0)" })
    #expect(refusal?.hint == hint)
  }

  @Test(arguments: [HandstampTool.self, HandstampServerTool.self] as [any AsyncParsableCommand.Type])
  func `is not one of those that exist`(root: any AsyncParsableCommand.Type) throws {
    var next: [[String]] = root.configuration.subcommands.map { [$0._commandName] }
    #expect(next.count > 3)
    while let path = next.popLast() {
      try NamedCommand(in: path, of: root).check()
      var command: any ParsableCommand.Type = root
      for name in path { command = try #require(command.configuration.subcommands.first { $0._commandName == name }) }
      next += command.configuration.subcommands.map { path + [$0._commandName] }
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A command of those who run a server` {
  @Test(
    arguments: [
      (["serve", "--data", "./my data"], "run: handstamp-server serve --data './my data'"),
      (["admin", "accounts", "list"], "run: handstamp-server admin accounts list"),
      (["gate"], "run: handstamp-server gate"), (["help", "serve"], "run: handstamp-server help serve"),
      (["token"], nil), (["exec", "--", "serve"], nil), ([], nil),
    ] as [([String], String?)])
  func `is refused at the terminal's program with the way to run it`(words: [String], hint: String?) {
    var refusal: CommandError?
    do throws(CommandError) { try OperatorsCommand.refuse(words) } catch { refusal = error }
    #expect(refusal?.hint == hint)
  }

  @Test func `is one that their program has, and the terminal's has not`() {
    func names(_ tool: any ParsableCommand.Type) -> Set<String> {
      Set(tool.configuration.subcommands.compactMap { $0.configuration.commandName }).subtracting(["completion"])
    }
    let operators = Set(OperatorsCommand.allCases.map(\.rawValue))
    #expect(names(HandstampServerTool.self) == operators)
    #expect(names(HandstampTool.self).isDisjoint(with: operators))
  }
}
#endif
