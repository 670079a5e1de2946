#if Command
import HandstampCommandLine

/// One result of `doctor`.
struct Finding: Sendable, Hashable, Encodable {
  enum Level: String, Sendable, Encodable {
    case ok, note, problem
  }
  var level: Level
  /// The check, as one word for programs: `vault_folder`.
  var check: String
  /// The account concerned, if any.
  var account: String?
  /// The description. Never contains a secret.
  var words: String
  /// The advice, if there is any.
  var hint: String?

  static func ok(_ check: String, _ words: String, account: String? = nil) -> Finding {
    Finding(level: .ok, check: check, account: account, words: words)
  }

  static func note(_ check: String, _ words: String, account: String? = nil, hint: String? = nil) -> Finding {
    Finding(level: .note, check: check, account: account, words: words, hint: hint)
  }

  static func problem(_ check: String, _ words: String, account: String? = nil, hint: String) -> Finding {
    Finding(level: .problem, check: check, account: account, words: words, hint: hint)
  }

  /// - Parameter room: the free bytes of its disk; `nil` if the system does not say.
  static func home(_ check: String, _ words: String, room: Int64?) -> Finding {
    guard let room else { return .ok(check, words) }
    let words = "\(words), \(room >> 20) MiB free"
    return room < 16 << 20 ? .note(check, words, hint: "free some space on its disk") : .ok(check, words)
  }

  /// - Parameter limit: negative for none.
  static func descriptors(limit: Int, inherited: Int) -> Finding {
    let words = "\(limit < 0 ? "any number of" : "\(limit)") files may be open, \(inherited) were at the start"
    // An agent or a bridge keeps connections and locks open for each account.
    guard limit >= 0, limit < inherited + 200 else { return .ok("descriptors", words) }
    return .note("descriptors", words, hint: "run: ulimit -n \(inherited + 1024)")
  }
}
#endif
