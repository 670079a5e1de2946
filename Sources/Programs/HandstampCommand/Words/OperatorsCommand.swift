#if Command
import HandstampCommandLine

/// The commands of those who run a server, which are those of another program.
enum OperatorsCommand: String, CaseIterable {
  case serve, admin, gate

  /// - Parameter words: The arguments of this program.
  /// - Throws: A refusal that says how to run them there, if they name one.
  static func refuse(_ words: [String]) throws(CommandError) {
    guard let name = words.first(where: { $0 != "help" }), OperatorsCommand(rawValue: name) != nil else { return }
    throw CommandError(
      .usage, "\(name) is a command of handstamp-server",
      hint: "run: " + (["handstamp-server"] + words.map { shellWord($0.onOneLine) }).joined(separator: " "))
  }
}
#endif
