/// Where the reader's lines go, and where words come from.
public protocol Console: Sendable {
  /// Whether a person types: they may go on while a page is still to come. What a script says is taken when it is there.
  var isInteractive: Bool { get }

  func say(_ text: String)

  /// Asks for one line; nothing at the end of the input, or when the task is cancelled. Then the line that is still to come is
  /// for whoever asks next.
  func line(_ prompt: String, secretly: Bool) async -> String?

  /// Asks again for the line that somebody waits for, if anything was said after the prompt.
  func repeatPrompt()
}
