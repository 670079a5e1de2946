#if Command
package import ArgumentParser

/// A default subcommand with an argument: the first word may be that instead of a subcommand.
package protocol TakesFirstWord: ParsableCommand {}

/// The command of a program that the arguments name.
package struct NamedCommand {
  /// From the program to the subcommand.
  package private(set) var path: [String]
  /// The word in the place of a subcommand that does not exist, and those that do.
  package private(set) var unknown: (name: String, known: [String])?

  package init(in arguments: [String], of root: any ParsableCommand.Type) {
    path = [root.configuration.commandName].compactMap { $0 }
    var command = root
    for name in arguments {
      let known = command.configuration.subcommands
      if known.isEmpty || name.hasPrefix("-") { return }
      if name == "help" {
        // `help` of the program itself is followed by a command; a subcommand has none.
        guard path.count == 1 else { return }
        continue
      }
      guard let next = known.first(where: { $0.configuration.commandName == name }) else {
        if command.configuration.defaultSubcommand is any TakesFirstWord.Type { return }
        unknown = (name, known.compactMap { $0.configuration.commandName })
        return
      }
      command = next
      path.append(name)
    }
  }

  /// Its name below the program.
  package var subcommand: String { path.dropFirst().joined(separator: " ") }

  /// Prints its help.
  package var help: String { path.joined(separator: " ") + " --help" }

  /// - Throws: A refusal that names the nearest subcommand. The parser would call the word an unexpected argument.
  package func check() throws(CommandError) {
    guard let unknown else { return }
    let words = path.dropFirst() + [unknown.name]
    throw CommandError(
      .usage, "unknown command: \(words.joined(separator: " ").onOneLine)",
      hint: NearestName.hint(for: unknown.name, among: unknown.known, in: help))
  }
}
#endif
