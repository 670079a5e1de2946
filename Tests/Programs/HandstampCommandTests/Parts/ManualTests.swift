#if Programs
import ArgumentParser
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator

/// `scripts/dev manual` prints the manual from the same texts, and `make check` compares it.
@Suite(.timeLimit(.minutes(10))) struct `The help of each command` {
  private static let all: [any ParsableCommand.Type] = {
    var all: [any ParsableCommand.Type] = [HandstampTool.self, HandstampServerTool.self]
    var next = 0
    while next < all.count {
      all += all[next].configuration.subcommands
      next += 1
    }
    return all
  }()

  /// The library derives missing names from the types, by reflection: a third of the time that a short command takes.
  @Test func `is under a name that the command states itself`() {
    for command in Self.all { #expect(command.configuration.commandName?.isEmpty == false, "\(command)") }
    #expect(Self.all.count > 40)
  }

  @Test func `fits a terminal of 80 columns as it is written`() {
    for command in Self.all {
      for line in command.configuration.discussion.split(separator: "\n") {
        #expect(line.count <= 76, "\(command): \(line)")
      }
    }
  }
}
#endif
