#if Command
import Dispatch
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampHTTP
import HandstampSupport
import Logging

/// An agent's socket, from its creation to its removal. A signal ends the program, and removes the socket as well.
struct AgentService: Sendable {
  let file: SocketFile
  /// The permissions of the socket.
  let mode: Int
  let responder: AgentResponder

  /// - Parameter time: How long to run; `nil` runs until a signal.
  func run(for time: Duration?) async throws {
    let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
    let listener = try listener { isReady.yield() }
    let (serving, identity) = try await file.alone {
      try file.makeRoom()
      let serving = Task {
        defer { isReady.finish() }
        try await listener.run()
      }
      var identity: FileIdentity?
      for await _ in ready {
        identity = file.identity
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        break
      }
      return (serving, identity)
    }
    Interruption.beforeEnd { file.remove(identity) }
    if identity != nil { Terminal.out(file.path) }
    let ending = time.map { time in Task { try await end(serving, identity, after: time) } }
    let result = await serving.result
    ending?.cancel()
    responder.log.flush()
    do { try result.get() } catch let error as ListenError {
      throw CommandError(.configuration, "\(error)", hint: error.hint)
    } catch is CancellationError {
      // The time is over.
    }
  }

  private func end(_ serving: Task<Void, any Error>, _ identity: FileIdentity?, after time: Duration) async throws {
    try await Task.sleep(for: time)
    responder.log.say("the time is over; \(file.path) is removed")
    // The listener removes whatever has its name, which must not be the socket of the next agent.
    do { try await file.alone { await end(serving, identity) } } catch { await end(serving, identity) }
  }

  private func end(_ serving: Task<Void, any Error>, _ identity: FileIdentity?) async {
    file.remove(identity)
    serving.cancel()
    _ = await serving.result
  }

  private func listener(onReady: @escaping @Sendable () -> Void) throws(CommandError) -> Listener {
    var options = ListenerOptions()
    // All peers are of one address. Beyond this number an idle connection is closed, or the new one.
    options.connections = 256
    options.headLimit = .seconds(5)
    options.bodyLimit = .seconds(5)
    options.writeLimit = .seconds(5)
    options.idleLimit = .seconds(30)
    options.headSize = 8 << 10
    options.headFields = 50
    // The whole question is in the path.
    options.bodySize = 0
    do throws(ListenError) {
      return try Listener(
        on: [.unixSocket(file.path)], options: options, logger: ServerLog(level: .warning).logger,
        onReady: { _ in onReady() }
      ) { [responder] request, channel in await responder.respond(to: request, on: channel) }
    } catch {
      throw CommandError(.configuration, "\(error)", hint: error.hint)
    }
  }
}

/// The lines of an agent on stderr. They have a queue of their own: a reader that stopped reading must not keep peers from their tokens.
struct AgentLog: Sendable {
  /// How many lines may wait. Further ones are lost, and counted.
  static let limit = 100

  private struct State {
    var waiting = 0
    var lost = 0
  }

  private let state = Locked(State())
  private let queue = DispatchQueue(label: "handstamp.agent.log")
  private let write: @Sendable (String) -> Void

  /// - Parameter write: Prints a line; may take as long as it likes.
  init(write: @escaping @Sendable (String) -> Void = { Terminal.say($0) }) { self.write = write }

  /// Has the line printed after those before it. Returns at once.
  func say(_ line: String) {
    let hasRoom = state.withLock { state in
      guard state.waiting < AgentLog.limit else {
        state.lost += 1
        return false
      }
      state.waiting += 1
      return true
    }
    guard hasRoom else { return }
    queue.async {
      write(line)
      let lost = state.withLock { state in
        state.waiting -= 1
        return exchange(&state.lost, with: 0)
      }
      if lost > 0 { write("\(lost) lines lost: the reader of stderr was too slow") }
    }
  }

  /// Waits until the lines are printed, for at most a second.
  func flush() {
    let isDone = DispatchSemaphore(value: 0)
    queue.async { isDone.signal() }
    _ = isDone.wait(timeout: .now() + 1)
  }
}
#endif
