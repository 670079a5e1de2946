#if Command
import HandstampSupport

/// IDs on the command line that begin with a dash, as one in 64 does: base64url of a session's 16 bytes or a key's 32.
///
/// Options for a text that a server has drawn are parsed unconditionally instead.
enum DashedIDs {
  /// The commands that take such IDs.
  private static let commands = [["revoke"], ["admin", "sessions", "end"], ["admin", "keys", "retire"]]

  /// Reorders the arguments so that no ID is parsed as an option.
  static func arranged(_ arguments: [String]) -> [String] {
    guard commands.contains(where: arguments.starts), !arguments.contains("--") else { return arguments }
    let ids = arguments.filter(isDashedID)
    return arguments.filter { !isDashedID($0) } + (ids.isEmpty ? [] : ["--"] + ids)
  }

  private static func isDashedID(_ word: String) -> Bool {
    word.hasPrefix("-") && [22, 43].contains(word.utf8.count) && Base64URL.decode(word) != nil
  }
}
#endif
