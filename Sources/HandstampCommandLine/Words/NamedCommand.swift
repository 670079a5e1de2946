#if Command
import ArgumentParser
import HandstampSupport

/// A default subcommand with an argument: the first word may be that instead of a subcommand.
protocol TakesFirstWord: ParsableCommand {}

/// The command that the arguments name.
struct NamedCommand {
  /// From the program to the subcommand.
  private(set) var path = ["handstamp"]
  /// The word in the place of a subcommand that does not exist, and those that do.
  private(set) var unknown: (name: String, known: [String])?

  init(in arguments: [String]) {
    var command: any ParsableCommand.Type = HandstampTool.self
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

  /// Prints its help.
  var help: String { path.joined(separator: " ") + " --help" }

  /// - Throws: A refusal that names the nearest subcommand, or the part that this build lacks. The parser would call the word an unexpected
  ///   argument.
  func check() throws(CommandError) {
    try BuildPart.check(command: path.dropFirst().joined(separator: " "))
    guard let unknown else { return }
    let words = path.dropFirst() + [unknown.name]
    throw CommandError(
      .usage, "unknown command: \(words.joined(separator: " ").onOneLine)",
      hint: NearestName.hint(for: unknown.name, among: unknown.known, in: help))
  }
}
#endif
