#if Command
import HandstampSupport

/// The arguments of the program, arranged for the parser.
package struct ProgramArguments {
  /// To be parsed.
  package private(set) var words: [String]
  /// Whether `--verbose` was among them.
  package let isVerbose: Bool

  /// - Parameter all: The name by which the program was started, and its arguments.
  package init(_ all: [String]) {
    let given = all.dropFirst()
    // The words after `--` belong to another program.
    let own = given.prefix { $0 != "--" }
    words = own.filter { $0 != "--verbose" } + given.dropFirst(own.count)
    isVerbose = words.count < given.count
    nameHelper(program: all.first ?? "")
    moveDashedIDs()
  }

  /// Names the credential helper, for a program that may have been started as `docker-credential-NAME` or `keyring`, or by cargo,
  /// which passes this one argument.
  private mutating func nameHelper(program: String) {
    let name = program.split(separator: "/").last ?? ""
    if words == ["--cargo-plugin"] {
      words = ["credential-helper", "cargo"]
    } else if name == "keyring" {
      words = ["credential-helper", "keyring"] + words
    } else if name.hasPrefix("docker-credential-") {
      words = ["credential-helper", "docker"] + words
    }
  }

  /// The commands that take IDs which may begin with a dash, as one in 64 does: base64url of a session's 16 bytes or a key's 32. Options
  /// for a text that a server has drawn are parsed unconditionally instead.
  private static let commandsOfIDs = [["revoke"], ["admin", "sessions", "end"], ["admin", "keys", "retire"]]

  /// Moves such IDs to the end, behind `--`, so that none is parsed as an option.
  private mutating func moveDashedIDs() {
    guard ProgramArguments.commandsOfIDs.contains(where: words.starts), !words.contains("--") else { return }
    let ids = words.filter(ProgramArguments.isDashedID)
    if !ids.isEmpty { words = words.filter { !ProgramArguments.isDashedID($0) } + ["--"] + ids }
  }

  private static func isDashedID(_ word: String) -> Bool {
    word.hasPrefix("-") && [22, 43].contains(word.utf8.count) && Base64URL.decode(word) != nil
  }
}
#endif
