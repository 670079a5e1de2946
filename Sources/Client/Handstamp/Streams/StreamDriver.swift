import HandstampCore
import HandstampSupport

/// Performs the decisions of a ``StreamMachine`` for one reader; makes none itself.
actor StreamDriver<Connector: StreamConnector> {
  typealias Messages = AsyncThrowingStream<Connector.Message, any Error>

  private let connector: Connector
  private let controller: SessionController
  /// The session that this stream belongs to; the stream ends with it.
  private let generation: UInt64
  private let messages: Messages.Continuation
  private var machine: StreamMachine
  private var links: [StreamMachine.Link: Task<Void, Never>] = [:]
  private var tokens: [StreamMachine.Link: AccessToken] = [:]
  private var timers: [StreamMachine.Timer: Task<Void, Never>] = [:]
  private var watching: Task<Void, Never>?

  private init(
    _ connector: Connector, _ controller: SessionController, _ machine: StreamMachine, _ messages: Messages.Continuation
  ) {
    self.connector = connector
    self.controller = controller
    self.machine = machine
    self.messages = messages
    generation = controller.requests.generation
  }

  /// Begins to connect and returns the messages. The stream, which holds its driver, continues until it has ended or its iterator is
  /// released.
  static func start(
    _ connector: Connector, _ controller: SessionController, options: StreamOptions, after id: String?
  ) -> Messages {
    let (messages, continuation) = Messages.makeStream()
    let driver = StreamDriver(connector, controller, StreamMachine(options: options, after: id), continuation)
    continuation.onTermination = { _ in Task { await driver.post(.over(.left)) } }
    Task.detached(priority: .userInitiated) { await driver.begin() }
    return messages
  }

  private func begin() {
    guard machine.end == nil else { return }
    watching = Task.detached(priority: .userInitiated) { [controller, weak self] in
      var session: SessionID?
      for await state in controller.states {
        switch state {
        case .signedIn(let facts):
          if let session, session != facts.id { await self?.post(.over(.failed(.signedOut(.replaced)))) }
          session = facts.id
        case .signedOut(let reason): await self?.post(.over(.failed(.signedOut(reason))))
        case .restoring, .unavailable: break
        }
      }
    }
    post(.start)
  }

  /// The only entry point. Never suspends.
  func post(_ event: StreamMachine.Event, _ message: Connector.Message? = nil) {
    for effect in machine.handle(event, at: controller.clock.uptime()) {
      switch effect {
      case .open(let link, let id, let other): open(link, after: id, insteadOf: other.flatMap { tokens[$0] })
      case .close(let link): links.removeValue(forKey: link)?.cancel()
      case .deliver: if let message { messages.yield(message) }
      case .startTimer(let timer, let ticket, let delay): start(timer, ticket, after: delay)
      case .finish(let end): finish(end)
      case .ignored: break
      }
    }
    if case .closed(let link, _, _) = event { links[link] = nil }
  }

  private func start(_ timer: StreamMachine.Timer, _ ticket: UInt64, after delay: Duration) {
    timers[timer]?.cancel()
    timers[timer] = Task.detached(priority: .userInitiated) { [weak self, clock = controller.clock] in
      do { try await clock.sleep(for: delay) } catch { return }
      await self?.post(.timer(timer, ticket: ticket, entropy: .random(in: .min ... .max)))
    }
  }

  private func finish(_ end: StreamMachine.End) {
    watching?.cancel()
    for task in links.values { task.cancel() }
    for task in timers.values { task.cancel() }
    (links, timers, tokens) = ([:], [:], [:])
    switch end {
    case .complete, .left: messages.finish()
    case .failed(let error): messages.finish(throwing: error)
    }
  }

  // MARK: One link

  private func open(_ link: StreamMachine.Link, after id: String?, insteadOf refused: AccessToken?) {
    // Detached, so that it inherits neither the reader's cancellation nor its priority.
    links[link] = Task.detached(priority: .userInitiated) { [weak self, connector, controller, generation] in
      let token: AccessToken
      do throws(SessionError) { token = try await StreamDriver.token(of: controller, insteadOf: refused) } catch {
        await self?.end(link, StreamMachine.Closing(error))
        return
      }
      await self?.note(token, of: link)
      do throws(MessageError) {
        // Within the fence, so that no token of an ended session is sent, nor one of the next session.
        let signals = try await controller.requests.run(in: generation) { () async throws(MessageError) in
          try await connector.connect(with: token, after: id)
        }
        guard let signals else {
          await self?.end(link, StreamMachine.Closing(controller.fenceError))
          return
        }
        await self?.post(.opened(link, renewal: controller.renewal(of: token)))
        do {
          for try await signal in signals {
            guard let self, !Task.isCancelled else { return }
            await self.take(signal, from: link)
          }
        } catch {}
        await self?.end(link, .ended)
      } catch {
        await self?.end(link, StreamMachine.Closing(error))
      }
    }
  }

  private func end(_ link: StreamMachine.Link, _ closing: StreamMachine.Closing) {
    post(.closed(link, closing, entropy: .random(in: .min ... .max)))
  }

  private func note(_ token: AccessToken, of link: StreamMachine.Link) {
    guard links[link] != nil else { return }
    tokens[link] = token
    // Only the last two can be referred to.
    for old in tokens.keys.sorted().dropLast(3) { tokens[old] = nil }
  }

  private func take(_ signal: StreamSignal<Connector.Message>, from link: StreamMachine.Link) {
    switch signal {
    case .message(let message, let id): post(.message(link, id: id), message)
    case .passed(let id): post(.passed(link, id: id))
    case .retry(let wait): post(.retry(link, wait))
    case .alive: post(.alive(link))
    }
  }

  private static func token(
    of controller: SessionController, insteadOf refused: AccessToken?
  ) async throws(SessionError) -> AccessToken {
    guard controller.abilities.usesBearerTokens else { throw .unsupported("a stream for this kind of session") }
    if let refused { return try await controller.token(replacing: refused) }
    return try await controller.token()
  }
}

extension SessionController {
  /// Returns the time until the refresh of `token` is due; `nil` if unknown, zero if there already is another token.
  nonisolated func renewal(of token: AccessToken) -> Duration? {
    let (now, until) = snapshot.withLock { ($0.access?.token, $0.servesUntil) }
    guard let now else { return nil }
    guard now == token else { return .zero }
    let left = until - clock.uptime()
    return left < .seconds(366 * 86_400) ? max(.zero, left) : nil
  }
}
