#if Programs
import ArgumentParser
import Testing

@testable import HandstampCommand

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
    do throws(CommandError) { try NamedCommand(in: arguments).check() } catch { refusal = error }
    #expect(refusal?.message == name.map { "unknown command: \($0)" })
    #expect(refusal?.hint == hint)
  }

  @Test func `is not one of those that exist`() throws {
    var next: [[String]] = HandstampTool.configuration.subcommands.map { [$0._commandName] }
    #expect(next.count > 15)
    while let path = next.popLast() {
      try NamedCommand(in: path).check()
      var command: any ParsableCommand.Type = HandstampTool.self
      for name in path { command = try #require(command.configuration.subcommands.first { $0._commandName == name }) }
      next += command.configuration.subcommands.map { path + [$0._commandName] }
    }
  }
}
#endif
