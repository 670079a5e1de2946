#if Command
import Foundation
package import HandstampCore
import HandstampSupport

/// Data goes to stdout, messages go to stderr.
package enum Terminal {
  /// Prints one line of data.
  package static func out(_ line: String) { out(bytes: Array((line + "\n").utf8)) }

  /// Writes data unchanged. Returns whether it could be written.
  @discardableResult package static func out(bytes: [UInt8]) -> Bool {
    WaitLine.shared.makeRoom()
    guard let fault = write(bytes, to: STDOUT_FILENO) else { return true }
    failure.withLock { $0 = $0 ?? fault }
    return false
  }

  private static let failure = Locked<Int32?>(nil)

  /// Why data could not be written, such as for a full disk; `nil` if all was. A reader that wanted no more is no failure.
  package static var outputFailure: CommandError? {
    guard let fault = failure.withLock({ $0 }), fault != EPIPE else { return nil }
    return CommandError(
      .failure, "cannot write the output: \(String(cString: strerror(fault)))",
      hint: "make room, or write it elsewhere, and run the same command again")
  }

  /// Prints one line of message text.
  package static func say(_ line: String) {
    WaitLine.shared.makeRoom()
    write(Array((line.onOneLine + "\n").utf8), to: STDERR_FILENO)
  }

  /// Prints a refusal, as JSON where the command line asks for it.
  package static func say(_ refusal: CommandError) {
    if CommandLine.arguments.contains("--json") { return say(refusal.line) }
    say("\(CommandProgram.name): \(refusal.message)")
    say("hint: \(refusal.hint)")
  }

  /// Writes part of a line to stderr.
  package static func writeRaw(_ text: String) { write(Array(text.utf8), to: STDERR_FILENO) }

  /// Unbuffered, so that no output is lost however the program ends. Returns the error that kept it from being written.
  @discardableResult
  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 || (count < 0 && errno == EINTR) else { return errno }
      rest = rest.dropFirst(max(0, count))
    }
    return nil
  }

  /// Has help written for 80 columns where there are fewer than 40: words would have no room beside options.
  package static func widen() {
    var size = winsize()
    _ = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size)
    if ProcessEnvironment["COLUMNS"].flatMap({ Int($0) }) ?? Int(size.ws_col) < 40 { setenv("COLUMNS", "80", 1) }
  }

  package static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 }

  /// Returns the first line of stdin, or prompts for the secret with the echo turned off.
  ///
  /// - Parameter twice: prompt a second time, and compare.
  package static func secret(_ name: String, twice: Bool = false) throws(CommandError) -> Secret {
    guard isInteractive else { return try firstLine(of: name) }
    return try withoutEcho { () throws(CommandError) in
      let secret = try prompt("\(name): ")
      if !twice { return secret }
      guard try prompt("\(name) again: ") == secret else {
        throw CommandError(.failure, "the two entries do not match", hint: "run the same command again")
      }
      return secret
    }
  }

  /// Prompts, with the echo turned off, at the controlling terminal, even if stdin is something else (git's pipe, for example).
  /// Returns `nil` if there is no terminal, or if the user cancels.
  package static func secretAtTerminal(_ name: String) throws(CommandError) -> Secret? {
    if isInteractive {
      do throws(CommandError) { return try withoutEcho { () throws(CommandError) in try prompt("\(name): ") } } catch {
        guard error.exit == .cancelled else { throw error }
        return nil
      }
    }
    // Without a visible stderr, the user would not see the prompt.
    guard isatty(STDERR_FILENO) == 1 else { return nil }
    let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return try withoutEcho(at: descriptor) { () throws(CommandError) in
      write(Array("\(name): ".utf8), to: descriptor)
      defer { write([10], to: descriptor) }
      return readKeys(from: descriptor).flatMap { $0.isEmpty ? nil : $0 }
    }
  }

  /// Prompts for a line that is not secret.
  package static func line(_ name: String, hint: String) throws(CommandError) -> String {
    guard isInteractive else { throw CommandError(.usage, "missing \(name)", hint: hint) }
    write(Array("\(name): ".utf8), to: STDERR_FILENO)
    guard let line = readLine(), !line.isEmpty else {
      throw CommandError(.cancelled, "cancelled", hint: hint)
    }
    return line
  }

  private static func firstLine(of name: String) throws(CommandError) -> Secret {
    let (line, _) = SecretFile.read(from: STDIN_FILENO, limit: 16 << 10, isLine: true)
    guard !line.isEmpty else {
      throw CommandError(
        .usage, "no \(name) on stdin", hint: "run the command at a terminal, or pipe the \(name) in as one line")
    }
    return line
  }

  private static func prompt(_ text: String) throws(CommandError) -> Secret {
    write(Array(text.utf8), to: STDERR_FILENO)
    defer { write([10], to: STDERR_FILENO) }
    guard let typed = readKeys(), !typed.isEmpty else { throw .cancelled }
    return typed
  }

  /// Reads up to the end of the line; returns `nil` if the user cancels. Keys are read one by one, so that an interrupt is
  /// seen here, while the echo can still be restored.
  private static func readKeys(from descriptor: Int32 = STDIN_FILENO) -> Secret? {
    var typed: [UInt8] = []
    defer { for index in typed.indices { typed[index] = 0 } }
    var key: UInt8 = 0
    while Foundation.read(descriptor, &key, 1) == 1 {
      switch key {
      case 10, 13: return Secret(bytes: typed)
      case 3: return nil
      case 4: if typed.isEmpty { return nil }
      case 8, 127:
        while let last = typed.popLast(), last & 0xC0 == 0x80 {}
      case 21: typed.removeAll()
      default: typed.append(key)
      }
    }
    return nil
  }

  private static func withoutEcho<Result>(
    at descriptor: Int32 = STDIN_FILENO, _ body: () throws(CommandError) -> Result
  ) throws(CommandError) -> Result {
    var previous = termios()
    guard tcgetattr(descriptor, &previous) == 0 else {
      throw CommandError(.failure, "cannot read a secret from this terminal", hint: "pipe the secret in as one line")
    }
    var silent = previous
    silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
    tcsetattr(descriptor, TCSAFLUSH, &silent)
    defer { tcsetattr(descriptor, TCSAFLUSH, &previous) }
    return try body()
  }
}

extension String {
  /// The text with control characters replaced: names from servers and other devices must not move the cursor.
  package var onOneLine: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.map { scalar in
          // A mark that turns the direction of what follows is as bad as an escape sequence.
          scalar.properties.generalCategory == .control || scalar.properties.isBidiControl ? "?" : scalar
        }))
  }
}
#endif
