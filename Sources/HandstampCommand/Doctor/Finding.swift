#if Command
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
}
#endif
