/// The input and output of the reader.
public protocol Console: Sendable {
  /// Whether a human types, who may go on while a page is still loading. A script's commands are taken once the page is
  /// there.
  var isInteractive: Bool { get }

  func say(_ text: String)

  /// Asks for one line. Returns `nil` at the end of the input, or if the task is cancelled; a line that arrives later
  /// answers the next question.
  func line(_ prompt: String, secretly: Bool) async -> String?

  /// Repeats the pending prompt, if there was output after it.
  func repeatPrompt()
}
