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

/// Which name was meant by one that is unknown.
package enum NearestName {
  /// Names the nearest one, if it is near, and the command `list` that prints all.
  package static func hint(for name: String, among known: [String], in list: String) -> String {
    let ranked = known.map { (name: $0, distance: distance($0, name)) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }), best.distance <= max(2, name.count / 4) else {
      return "\(list) lists all"
    }
    return "did you mean \(best.name)? \(list) lists all"
  }

  /// How many characters have to be added, removed or replaced (Levenshtein).
  private static func distance(_ first: String, _ second: String) -> Int {
    let second = Array(second)
    var row = Array(0...second.count)
    for (index, character) in first.enumerated() {
      var corner = row[0]
      row[0] = index + 1
      for place in second.indices {
        let replaced = corner + (character == second[place] ? 0 : 1)
        corner = row[place + 1]
        row[place + 1] = min(replaced, row[place] + 1, corner + 1)
      }
    }
    return row[second.count]
  }
}

/// The command as it was typed, for hints that repeat it with one more option.
package enum TypedCommand {
  /// - Parameter words: The arguments after the program's name.
  package static func hint(
    _ words: [String] = Array(CommandLine.arguments.dropFirst()), adding option: String
  ) -> String {
    var words = words
    // After a "--" it would be no option.
    if !words.contains(option) { words.insert(option, at: words.firstIndex(of: "--") ?? words.endIndex) }
    return "run: " + ([CommandProgram.name] + words.map { shellWord($0.onOneLine) }).joined(separator: " ")
  }
}
#endif
