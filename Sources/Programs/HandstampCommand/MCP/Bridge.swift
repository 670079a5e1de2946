#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// A remote MCP server as a program: passes each message on stdin to the server with a valid token, and its responses
/// to stdout. It decides nothing about the messages, and changes no byte of them (Model Context Protocol 2025-11-25
/// and 2026-07-28, stdio and streamable HTTP).
actor Bridge {
  /// The largest message in either direction, in bytes.
  static let longestMessage = 64 << 20
  /// How long the stream of messages that belong to no request waits for a request that succeeds.
  private static let lull = Duration.seconds(60)
  /// How long the requests in flight may take after the end of stdin: programs wait 2 s before they send a signal.
  private static let farewell = Duration.seconds(1)

  let server: RemoteServer
  let access: any BridgeCredentials
  let transport: any Transport
  private let pipes: any BridgeEnds
  var session = RemoteSession()

  private struct InFlight {
    var task: Task<Void, Never>
    var number: UInt64
    var standsAlone: Bool
    var isAnswered = false
  }
  private var requests: [RequestID: InFlight] = [:]
  private var lastNumber: UInt64 = 0
  /// The last message that awaits no response: those after it are sent when the server has accepted it.
  private var last: Task<Void, Never>?
  /// Reads messages that belong to no request.
  private var listening: Task<Void, Never>?
  private var reopening: Task<Bool, Never>?
  /// Waits for the end of the session whose tokens were sent.
  private var watching: Task<Void, Never>?
  /// Whether the stream of those messages ended for want of a token, and is to begin again with the next request that succeeds.
  private(set) var isMuted = false
  /// How many requests have succeeded.
  private(set) var successes = 0
  /// The wait for the next one.
  private var lullWait: Task<Void, Never>?
  /// The waits of that stream after failures.
  let backOff: RetryPolicy
  private var isBroken = false

  init(
    _ server: RemoteServer, _ access: any BridgeCredentials, over transport: any Transport, _ pipes: any BridgeEnds,
    backOff: RetryPolicy = StreamPosition.usualBackOff
  ) {
    (self.server, self.access, self.transport, self.pipes, self.backOff) = (server, access, transport, pipes, backOff)
  }

  /// Passes messages until stdin ends, or stdout has no reader.
  func run() async {
    var splitter = LineSplitter(limit: Bridge.longestMessage)
    while !isBroken, let bytes = await pipes.read() {
      for line in splitter.lines(in: bytes) { await take(line) }
    }
    if let line = splitter.finished() { await take(line) }
    await end()
  }

  private func end() async {
    let left = requests.values.map(\.task) + [last].compactMap { $0 }
    // A request that waits for the user cannot be cancelled at once, and is not waited for.
    let (limits, limit) = AsyncStream.makeStream(of: Void.self)
    let waiting = [
      Task {
        for task in left { await task.value }
        limit.finish()
      },
      Task {
        try? await Task.sleep(for: Bridge.farewell)
        limit.finish()
      },
    ]
    for await _ in limits {}
    // A program that only closed its end still reads.
    for (id, request) in requests where !request.isAnswered {
      let words = CommandError(
        .cancelled, "stdin ended before \(server.host) answered",
        hint: "the server may have carried out the request; find out before you repeat it")
      await send(BridgeReply.refusal(words, of: id))
    }
    for task in left + waiting { task.cancel() }
    listening?.cancel()
    watching?.cancel()
    await leave()
    await access.conclude()
  }

  // MARK: Messages of the client

  private func take(_ line: LineSplitter.Line) async {
    guard case .message(let bytes) = line else {
      let words = "a message may have at most \(Bridge.longestMessage >> 20) MiB"
      return await send(BridgeReply.response(to: nil, code: BridgeReply.invalidRequest, words))
    }
    guard let message = ClientMessage(bytes) else {
      return await send(BridgeReply.response(to: nil, code: BridgeReply.parseError, "not a JSON-RPC message"))
    }
    if let id = message.single?.cancels, let request = requests[id] {
      if request.standsAlone { return request.task.cancel() }
      return follow(message) { request.task.cancel() }
    }
    session.note(message)
    follow(message) {}
  }

  /// Sends a message after those before it that await no response.
  private func follow(_ message: ClientMessage, then end: @escaping @Sendable () -> Void) {
    let before = last
    lastNumber += 1
    let number = lastNumber
    let task = Task {
      await before?.value
      await self.perform(message)
      end()
      self.remove(message.awaited, number)
    }
    guard !message.awaited.isEmpty else {
      last = task
      return
    }
    let request = InFlight(
      task: task, number: number, standsAlone: ClientMessage.standsAlone(message.single?.version))
    for id in message.awaited { requests[id] = request }
  }

  /// Notes that a request needs no refusal any more, whatever else its stream may bring.
  func answered(_ id: RequestID) { requests[id]?.isAnswered = true }

  private func remove(_ ids: [RequestID], _ number: UInt64) {
    for id in ids where requests[id]?.number == number { requests[id] = nil }
  }

  private func perform(_ message: ClientMessage) async {
    var open = Set(message.awaited)
    do throws(CommandError) { try await exchange(message, &open) } catch {
      // A request that was cancelled has no response.
      guard !Task.isCancelled else { return }
      if message.awaited.isEmpty { Terminal.say("handstamp: \(error.message)") }
      for id in message.awaited where open.contains(id) {
        answered(id)
        await send(BridgeReply.refusal(error, of: id))
      }
    }
  }

  /// Writes a message to the client, unless its request was cancelled or the session has ended.
  func send(_ message: [UInt8]) async {
    guard !Task.isCancelled else { return }
    if await !pipes.write(message) { isBroken = true }
  }

  // MARK: The sign-in

  /// Returns a valid token; `nil` while none is known to be needed.
  func token() async throws(CommandError) -> AccessToken? { watched(try await access.token()) }

  /// Returns another token than one that the server has refused.
  func token(
    insteadOf refused: AccessToken?, _ challenge: ReceivedChallenge?
  ) async throws(CommandError) -> AccessToken? {
    watched(try await access.token(insteadOf: refused, challenge))
  }

  /// All that is opened with a token ends with its session.
  private func watched(_ token: AccessToken?) -> AccessToken? {
    if token != nil, watching == nil {
      watching = Task {
        let refusal = await access.sessionEnd()
        watching = nil
        if let refusal { await signedOut(refusal) }
      }
    }
    return token
  }

  private func signedOut(_ refusal: CommandError) async {
    isMuted = listening != nil
    listening?.cancel()
    for (id, request) in requests {
      request.task.cancel()
      guard !request.isAnswered else { continue }
      answered(id)
      await send(BridgeReply.refusal(refusal, of: id))
    }
  }

  // MARK: The session

  /// Begins another session in place of one that the server does not know any longer, with the client's own messages.
  /// Returns whether there is one. Requests that need it meanwhile wait for the same one.
  ///
  /// - Parameter generation: that of the session that was lost.
  func reopen(_ generation: Int) async -> Bool {
    if let reopening { return await reopening.value }
    guard session.generation == generation else { return true }
    guard session.canReopen else { return false }
    session.forget()
    let task = Task { await self.openAgain() }
    reopening = task
    let isOpen = await task.value
    if reopening == task { reopening = nil }
    return isOpen
  }

  private func openAgain() async -> Bool {
    guard let opening = session.opening, let opened = session.opened else { return false }
    Terminal.say("\(server.url) began a new session; subscriptions of the previous one are gone")
    do throws(CommandError) {
      for message in [opening, opened] {
        var open = Set(message.awaited)
        try await exchange(message, &open, isAgain: true)
        guard open.isEmpty else { return false }
      }
      return true
    } catch { return false }
  }

  /// Reads the messages that belong to no request, if the server has such a stream.
  func listen() {
    isMuted = false
    listening?.cancel()
    listening = Task { await self.readOwnStream() }
  }

  /// Notes that a request has succeeded: the server is there.
  func succeeded() {
    successes += 1
    lullWait?.cancel()
  }

  /// Waits until more than `count` requests have succeeded, or a minute has passed.
  func waitForSuccess(after count: Int) async {
    guard successes == count else { return }
    let wait = Task { _ = try? await Task.sleep(for: Bridge.lull) }
    lullWait = wait
    await withTaskCancellationHandler {
      await wait.value
    } onCancel: {
      wait.cancel()
    }
  }

  /// Notes why the stream of messages that belong to no request has ended: where the server offers none, for good.
  func ownStreamEnded(_ error: CommandError) {
    if !Task.isCancelled, error.exit != .failure { isMuted = true }
  }

  /// Ends the session at the server.
  private func leave() async {
    guard session.id != nil, let token = try? await access.token() else { return }
    _ = try? await transport.send(
      TransportRequest(method: "DELETE", url: server.url, headers: session.ownFields, timeout: Bridge.farewell)
        .authorized(by: token))
  }
}

/// The tokens of a bridge.
protocol BridgeCredentials: Sendable {
  /// Returns a valid token; `nil` while none is known to be needed.
  func token() async throws(CommandError) -> AccessToken?
  /// Returns another token than one that the server has refused, `nil` for a request without one.
  func token(insteadOf refused: AccessToken?, _ challenge: ReceivedChallenge?) async throws(CommandError) -> AccessToken
  /// Returns the refusal of a request that needs more scopes.
  func stepUp(_ challenge: ReceivedChallenge) async -> CommandError
  /// Waits until the session of the last token has ended. Returns the refusal of what is open; `nil` if there is nothing to wait for.
  func sessionEnd() async -> CommandError?
  /// Does what is left to do before the program ends.
  func conclude() async
}

extension BridgeAccess: BridgeCredentials {}

/// Where the messages of the client come from, and those for it go.
protocol BridgeEnds: Sendable {
  /// Returns the next bytes; `nil` at the end.
  func read() async -> [UInt8]?
  /// Writes a message as one line. Returns whether it could be written.
  func write(_ message: [UInt8]) async -> Bool
}

extension BridgePipes: BridgeEnds {}

/// Streams of events, which are resumed where they broke off.
extension Bridge {
  /// Passes on the events of a response. If it breaks off before all requests are answered, the rest comes by another
  /// connection, as far as the server has given the events IDs.
  func events(
    _ response: TransportStream, of message: ClientMessage, _ open: inout Set<RequestID>, in sent: RemoteSession,
    isAgain: Bool
  ) async throws(CommandError) {
    var position = StreamPosition()
    try await read(response.body, &position, &open, in: sent, isAgain: isAgain)
    while !open.isEmpty {
      try check()
      guard position.id != nil, let pause = position.pause(entropy: .random(in: .min ... .max)) else {
        throw CommandError(
          .network, "the response of \(server.host) broke off",
          hint: "the server may have carried out the request; find out before you repeat it", code: "connection_lost")
      }
      try? await Task.sleep(for: pause)
      try check()
      guard let next = try await resume(position, in: sent) else { continue }
      try await read(next.body, &position, &open, in: sent, isAgain: isAgain)
    }
  }

  /// Reads the messages that belong to no request, as long as the session lasts. After too many failures in a row, as when the machine
  /// has slept, it waits until a request succeeds, or for a minute.
  func readOwnStream() async {
    var (position, open) = (StreamPosition(backOff: backOff), Set<RequestID>())
    let sent = session
    while !Task.isCancelled {
      let count = successes
      do throws(CommandError) {
        if let stream = try await resume(position, in: sent) {
          position.connected()
          try await read(stream.body, &position, &open, in: sent, isAgain: false)
        }
      } catch {
        // The next request meets the same error, and has a response that can say so.
        guard error.exit == .network, !Task.isCancelled else { return ownStreamEnded(error) }
      }
      if let pause = position.pause(entropy: .random(in: .min ... .max)) {
        try? await Task.sleep(for: pause)
      } else {
        await waitForSuccess(after: count)
        position.connected()
      }
    }
  }

  /// Opens a stream of events after a position. Returns `nil` if it may be tried again.
  ///
  /// - Throws: if it cannot be had: a server may offer none (405), or have forgotten the session.
  private func resume(
    _ position: StreamPosition, in sent: RemoteSession
  ) async throws(CommandError) -> TransportStream? {
    var token = try await token()
    for isLast in [false, true] {
      var request = TransportRequest(method: "GET", url: server.url, headers: sent.streamFields(after: position.id))
      if let token { request = request.authorized(by: token) }
      let stream: TransportStream
      do throws(TransportError) { stream = try await transport.open(request) } catch { return nil }
      let type = stream.headers.first(named: "Content-Type")?.lowercased() ?? ""
      switch stream.status {
      case 200 where type.hasPrefix("text/event-stream"): return stream
      case 401 where !isLast: token = try await self.token(insteadOf: token, ReceivedChallenge(stream.headers))
      case 408, 425, 429, 500...: return nil
      default:
        throw CommandError(
          .failure, "\(server.host) does not resume the response (status \(stream.status))",
          hint: "the server may have carried out the request; find out before you repeat it",
          code: "status_\(stream.status)")
      }
    }
    return nil
  }

  /// Passes on the messages of a stream until it ends or breaks.
  private func read(
    _ body: AsyncThrowingStream<[UInt8], any Error>, _ position: inout StreamPosition, _ open: inout Set<RequestID>,
    in sent: RemoteSession, isAgain: Bool
  ) async throws(CommandError) {
    var parser = EventStreamParser(limit: Bridge.longestMessage)
    do {
      for try await part in body {
        for item in parser.items(in: part) {
          guard let bytes = position.take(item), let facts = MessageFacts.all(in: bytes) else { continue }
          await pass(bytes, facts, &open, in: sent, isAgain: isAgain)
        }
        guard parser.droppedEvents == 0 else { throw TransportError.tooLarge }
      }
    } catch {
      // A stream that broke is resumed like one that has ended.
      guard error as? TransportError == .tooLarge else { return }
      throw CommandError(.network(.tooLarge), server: ServerAddress(listed: server.host))
    }
  }

  private func check() throws(CommandError) {
    if Task.isCancelled { throw .cancelled }
  }
}
#endif
