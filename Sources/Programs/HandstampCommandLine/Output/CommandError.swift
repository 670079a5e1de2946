#if Command
import HandstampSupport

/// Why a command failed, and what to do about it. Lower case, no full stop.
package struct CommandError: Error, Equatable {
  package var exit: ExitReason
  /// The stable code, in `snake_case`, for programs; the same as in Swift and in problem documents.
  package var code: String
  package var message: String
  package var hint: String
  /// Whether the installation's files are to blame; if so, the hint is found by inspecting them.
  package var concernsHome = false

  package init(_ exit: ExitReason, _ message: String, hint: String, concernsHome: Bool = false, code: String? = nil) {
    self.exit = exit
    self.code = code ?? exit.code
    self.message = message
    self.hint = hint
    self.concernsHome = concernsHome
  }

  package static let cancelled = CommandError(.cancelled, "cancelled", hint: "run the same command again")

  /// Returns the same refusal with another message.
  package func saying(_ message: String) -> CommandError {
    var refusal = self
    refusal.message = message
    return refusal
  }

  /// Returns the same refusal with another hint.
  package func hinting(_ hint: String) -> CommandError {
    var refusal = self
    (refusal.hint, refusal.concernsHome) = (hint, false)
    return refusal
  }
}

/// Exit codes. `handstamp --help` lists them.
package enum ExitReason: Int32, Sendable {
  case ok = 0
  case failure = 1
  case cancelled = 2
  case signInNeeded = 4
  case vault = 5
  case network = 6
  case configuration = 7
  case usage = 64
  /// The program that `exec` was asked to run is not executable; shells use the same code.
  case notRunnable = 126
  case notFound = 127

  /// The code of a refusal that has no code of its own.
  package var code: String {
    switch self {
    case .ok: "ok"
    case .failure: "failed"
    case .cancelled: "cancelled"
    case .signInNeeded: "sign_in_needed"
    case .vault: "storage_unavailable"
    case .network: "server_error"
    case .configuration: "invalid_request"
    case .usage: "usage"
    case .notRunnable: "not_executable"
    case .notFound: "not_found"
    }
  }
}

/// Returns `text` quoted as one shell word, so that a hint can be run as printed.
package func shellWord(_ text: String) -> String {
  let isPlain =
    !text.isEmpty && text.first != "~" && text.first != "#"
    && text.utf8.allSatisfy { $0.isAlphanumeric || "/.-_:@#%+,=~".utf8.contains($0) }
  return isPlain ? text : "'" + text.replacing("'", with: "'\\''") + "'"
}

/// Returns a sentence in the program's own style: no leading capital, no final full stop.
package func plain(_ sentence: String) -> String {
  var text = sentence.split(whereSeparator: \.isNewline).joined(separator: " ")
  while text.hasSuffix(".") { text.removeLast() }
  // An abbreviation keeps its capitals.
  guard let first = text.first, text.dropFirst().first?.isUppercase != true else { return text }
  return first.lowercased() + text.dropFirst()
}
#endif
