#if Command
import Foundation
import HandstampCommandLine
import HandstampHTTP
import HandstampSupport

/// Whether tokens may be handed out, as the user says when asked. One answer serves all peers of the socket: they cannot be told apart.
@MainActor final class AgentConsent {
  enum Way: Sendable, Hashable {
    case terminal
    /// Called with the question as its argument, as ssh calls `SSH_ASKPASS`; exit status 0 is a yes.
    case program(String)
  }

  private let way: Way
  /// How long a yes counts.
  private let life: Duration
  /// A no counts for a minute at most: a peer that asks on and on must not fill the terminal.
  private static let longestNo = Duration.seconds(60)
  /// How long the user may take. No answer is a no.
  private nonisolated static let patience = Duration.seconds(60)

  private var last: (isYes: Bool, end: ContinuousClock.Instant)?
  private var asking: Task<Bool, Never>?

  init(_ way: Way, life: Duration) { (self.way, self.life) = (way, life) }

  /// Returns the answer that still counts, else asks. Callers that come meanwhile share the question.
  func allows(_ question: String) async -> Bool {
    if let last, ContinuousClock.now < last.end { return last.isYes }
    if let asking { return await asking.value }
    let task = Task { [way] in
      switch way {
      case .terminal: await AgentConsent.askAtTerminal(question)
      case .program(let program): await AgentConsent.ask(by: program, question)
      }
    }
    asking = task
    let isYes = await task.value
    last = (isYes, .now + (isYes ? life : min(life, AgentConsent.longestNo)))
    asking = nil
    return isYes
  }

  /// Reading blocks, so it has a thread of its own.
  private nonisolated static func askAtTerminal(_ question: String) async -> Bool {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: Terminal.confirms(question, within: patience)) }
    }
  }

  private nonisolated static func ask(by program: String, _ question: String) async -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program, question]
    process.environment = ProcessInfo.processInfo.environment.merging(["SSH_ASKPASS_PROMPT": "confirm"]) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    do { return try await process.run(within: patience) == 0 } catch {
      Terminal.say("cannot run \(program)")
      return false
    }
  }
}

extension Terminal {
  /// Asks at the terminal, and returns whether the answer is `y` or `yes`. Blocks for at most `limit`.
  static func confirms(_ question: String, within limit: Duration) -> Bool {
    WaitLine.shared.makeRoom()
    // Keys that were typed before the question are no answer to it.
    tcflush(STDIN_FILENO, TCIFLUSH)
    writeRaw("\(question.onOneLine) [y/N] ")
    var source = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    guard poll(&source, 1, Int32(clamping: limit.wholeMilliseconds)) > 0 else {
      writeRaw("\n")
      return false
    }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(STDIN_FILENO, &bytes, bytes.count)
    let answer = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    return ["y", "yes"].contains(answer.trimmed.lowercased())
  }
}
#endif
