#if Command
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
