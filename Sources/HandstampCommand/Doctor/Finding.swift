#if Programs
/// One thing that `doctor` looked at, and what is to be held of it.
struct Finding: Sendable, Hashable, Encodable {
  enum Level: String, Sendable, Encodable {
    case ok, note, problem
  }
  var level: Level
  /// Which check, in one word for programs: `vault_folder`.
  var check: String
  /// The account that it is about.
  var account: String?
  /// What was found. Never a secret.
  var words: String
  /// What to do; nothing where there is nothing to do.
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
}
#endif
