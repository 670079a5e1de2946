import Foundation
import ForumReader

/// Reads and writes lines, and requires nothing else of the terminal.
// Unchecked: all access is under the lock.
final class Terminal: Console, @unchecked Sendable {
  private let lock = NSLock()
  private var waiting: CheckedContinuation<String?, Never>?
  private var prompt = ""
  /// Whether the cursor follows the prompt.
  private var isPrompted = false
  private var isReading = false
  /// Lines that arrived after their question was cancelled.
  private var lines: [String?] = []

  let isInteractive = isatty(STDIN_FILENO) == 1

  func say(_ text: String) {
    lock.lock()
    defer { lock.unlock() }
    // Text already typed stays on its line.
    write((isPrompted ? "\n" : "") + Terminal.clean(text) + "\n")
    isPrompted = false
  }

  static func complain(_ text: String) { FileHandle.standardError.write(Data((clean(text) + "\n").utf8)) }

  func repeatPrompt() {
    lock.lock()
    defer { lock.unlock() }
    if waiting != nil, !isPrompted { showPrompt() }
  }

  func line(_ prompt: String, secretly: Bool) async -> String? {
    let settings = secretly ? hideTyping() : nil
    let line = await line(prompt)
    if let settings { showTyping(settings) }
    return line
  }

  private func line(_ prompt: String) async -> String? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in wait(continuation, prompt) }
    } onCancel: {
      lock.lock()
      let given = waiting
      waiting = nil
      lock.unlock()
      given?.resume(returning: nil)
    }
  }

  private func wait(_ continuation: CheckedContinuation<String?, Never>, _ prompt: String) {
    lock.lock()
    defer { lock.unlock() }
    // A line typed at an earlier prompt does not answer this one.
    if isInteractive { lines.removeAll { $0 != nil } }
    if Task.isCancelled || !lines.isEmpty {
      return continuation.resume(returning: Task.isCancelled ? nil : lines.removeFirst())
    }
    waiting = continuation
    if isPrompted { write("\n") }
    if isReading, isInteractive { tcflush(STDIN_FILENO, TCIFLUSH) }
    self.prompt = prompt
    showPrompt()
    guard !isReading else { return }
    isReading = true
    // Reading blocks a thread.
    Thread.detachNewThread { [self] in received(readLine()) }
  }

  private func received(_ line: String?) {
    lock.lock()
    isReading = false
    isPrompted = false
    let given = waiting
    waiting = nil
    if given == nil { lines.append(line) }
    lock.unlock()
    given?.resume(returning: line)
  }

  private func showPrompt() {
    write(prompt)
    isPrompted = true
  }

  private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

  // MARK: Passwords

  // Unsafe: written before the handler that reads it is set.
  nonisolated(unsafe) private static var asItWas = termios()

  /// Turns off echo. Returns the previous settings, or `nil` if there is no terminal.
  private func hideTyping() -> termios? {
    var settings = termios()
    guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
    Terminal.asItWas = settings
    settings.c_lflag &= ~tcflag_t(ECHO)
    // Restores echo if the user interrupts the program here.
    signal(SIGINT) { number in
      tcsetattr(STDIN_FILENO, TCSANOW, &Terminal.asItWas)
      signal(number, SIG_DFL)
      raise(number)
    }
    tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    return Terminal.asItWas
  }

  private func showTyping(_ settings: termios) {
    var settings = settings
    tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    signal(SIGINT, SIG_DFL)
    lock.lock()
    defer { lock.unlock() }
    write("\n")
  }

  /// Removes control characters, so that text from the forum cannot control the terminal.
  private static func clean(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          let isControl = scalar.value < 32 && scalar != "\n" || (127...159).contains(scalar.value)
          let isBidi = (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
          return isControl || isBidi ? "?" : scalar
        }))
  }
}
