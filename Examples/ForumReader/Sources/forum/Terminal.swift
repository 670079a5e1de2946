import Foundation

/// Lines in and lines out: nothing else is asked of a terminal.
enum Terminal {
  enum Stream { case output, error }

  static func say(_ text: String, to stream: Stream = .output) {
    let handle = stream == .output ? FileHandle.standardOutput : FileHandle.standardError
    handle.write(Data((clean(text) + "\n").utf8))
  }

  /// Asks for one line; nothing at the end of the input. Waiting for it blocks a thread of its own.
  static func ask(_ prompt: String, secretly: Bool = false) async -> String? {
    FileHandle.standardOutput.write(Data(prompt.utf8))
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let line = secretly ? withoutEcho { readLine() } : readLine()
        continuation.resume(returning: line)
      }
    }
  }

  // Unsafe: written before the handler that reads it is set.
  nonisolated(unsafe) private static var asItWas = termios()

  private static func withoutEcho(_ read: () -> String?) -> String? {
    guard tcgetattr(STDIN_FILENO, &asItWas) == 0 else { return read() }
    var settings = asItWas
    settings.c_lflag &= ~tcflag_t(ECHO)
    // Whoever gives up here gets a terminal back that shows what they type.
    signal(SIGINT) { number in
      tcsetattr(STDIN_FILENO, TCSANOW, &Terminal.asItWas)
      signal(number, SIG_DFL)
      raise(number)
    }
    tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    defer {
      tcsetattr(STDIN_FILENO, TCSANOW, &Terminal.asItWas)
      signal(SIGINT, SIG_DFL)
      FileHandle.standardOutput.write(Data("\n".utf8))
    }
    return read()
  }

  /// What a forum's members write must not steer the terminal.
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
