#if Programs
/// Why a command did not do what it was asked, and what to do about it. Without capitals and full stops.
struct Refusal: Error, Equatable {
  var code: ExitReason
  var message: String
  var hint: String
  /// Whether the state of the installation's files is to blame: what leads out is found out by looking at them.
  var concernsHome = false

  init(_ code: ExitReason, _ message: String, hint: String, concernsHome: Bool = false) {
    self.code = code
    self.message = message
    self.hint = hint
    self.concernsHome = concernsHome
  }

  /// The same in other words.
  func saying(_ message: String) -> Refusal { Refusal(code, message, hint: hint, concernsHome: concernsHome) }
}

/// How the program ends. `handstamp --help` lists them.
enum ExitReason: Int32, Sendable {
  case ok = 0
  case failure = 1
  case cancelled = 2
  case signInNeeded = 4
  case vault = 5
  case network = 6
  case usage = 64
  /// What `exec` was to run cannot be run, as shells say it.
  case notRunnable = 126
  case notFound = 127
}

/// `text` as one word of a shell's command, so that a hint can be run as it is printed.
func shellWord(_ text: String) -> String {
  let isPlain =
    !text.isEmpty && text.first != "~" && text.first != "#"
    && text.utf8.allSatisfy {
      (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || "/.-_:@#%+,=~".utf8.contains($0)
    }
  return isPlain ? text : "'" + text.replacing("'", with: "'\\''") + "'"
}

/// A sentence of somebody else's in the program's own manner: without a capital at its start and a full stop at its end.
func plain(_ sentence: String) -> String {
  var text = sentence.split(whereSeparator: \.isNewline).joined(separator: " ")
  while text.hasSuffix(".") { text.removeLast() }
  // An abbreviation keeps its capitals.
  guard let first = text.first, text.dropFirst().first?.isUppercase != true else { return text }
  return first.lowercased() + text.dropFirst()
}
#endif
