import HandstampCore

/// Opens the connections of a live stream: the part in which server-sent events and WebSocket differ.
protocol StreamConnector: Sendable {
  associatedtype Message: Sendable

  /// Connects with `token`, resuming after `id`. Signals come in order; the stream ends with the connection. Cancelling the
  /// reading task closes it.
  @concurrent func connect(
    with token: AccessToken, after id: String?
  ) async throws(StreamError) -> AsyncThrowingStream<StreamSignal<Message>, any Error>
}

/// An item that arrives over a connection.
enum StreamSignal<Message: Sendable>: Sendable {
  /// A message, with its own ID if it has one.
  case message(Message, id: String?)
  /// An ID without a message.
  case passed(id: String)
  case retry(Duration)
  /// A sign of life other than a message: a heartbeat.
  case alive
}

/// A reason for which there is no connection.
struct StreamError: Error {
  var closing: StreamMachine.Closing

  init(_ closing: StreamMachine.Closing) { self.closing = closing }

  /// Maps a response other than the expected one.
  init(status: Int, retryAfter: Duration?) {
    switch status {
    case 204: closing = .finished
    case 401: closing = .unauthorized
    // A page instead of a stream, or a redirect: perhaps a captive portal that is gone in a minute.
    case 200..<400, 408, 425, 429: closing = .unavailable(retryAfter: retryAfter)
    case 400..<500: closing = .refused(.refused(code: "status_\(status)", detail: nil))
    default: closing = .unavailable(retryAfter: retryAfter)
    }
  }

  init(_ error: TransportError) {
    switch error {
    case .notConnected, .connectionLost, .timedOut, .cancelled, .tooLarge: closing = .unavailable(retryAfter: nil)
    case .invalidRequest(let text): closing = .refused(.invalidResponse(text))
    }
  }

  /// Maps the error of a missing token.
  init(_ error: SessionError) {
    switch error {
    case .signedOut, .sessionEnded, .noRefreshToken, .storageOutdated: closing = .refused(error)
    // A stream that retried would ask the user again and again.
    case .presence, .redirect: closing = .refused(error)
    case .requestFailed(_, let wait): closing = .unavailable(retryAfter: wait)
    case .storage, .tokenRejected, .refused, .invalidResponse, .unsupported, .contentFailed, .cancelled:
      closing = .unavailable(retryAfter: nil)
    @unknown default: closing = .unavailable(retryAfter: nil)
    }
  }
}

/// Server-sent events over a ``Transport``.
struct EventConnector: StreamConnector {
  typealias Message = ServerSentEvent

  let request: TransportRequest
  let transport: any Transport
  let clock: any SessionClock

  @concurrent func connect(
    with token: AccessToken, after id: String?
  ) async throws(StreamError) -> AsyncThrowingStream<StreamSignal<ServerSentEvent>, any Error> {
    var request = request.authorized(by: token)
    request.headers.removeAll { ["last-event-id", "accept", "cache-control"].contains($0.name.lowercased()) }
    request.headers += [HeaderField("Accept", "text/event-stream"), HeaderField("Cache-Control", "no-store")]
    if let id { request.headers.append(HeaderField("Last-Event-ID", id)) }
    let answer: TransportStream
    do throws(TransportError) { answer = try await transport.open(request) } catch { throw StreamError(error) }
    let type = answer.headers.first(named: "Content-Type")?.lowercased() ?? ""
    guard answer.status == 200, type.hasPrefix("text/event-stream") else {
      let head = TransportResponse(status: answer.status, headers: answer.headers)
      throw StreamError(status: answer.status, retryAfter: head.retryDelay(at: clock.now().wall))
    }
    let (signals, continuation) = AsyncThrowingStream.makeStream(of: StreamSignal<ServerSentEvent>.self)
    let reading = Task {
      var parser = EventStreamParser()
      do {
        for try await chunk in answer.body {
          continuation.yield(.alive)
          for item in parser.items(in: chunk) { continuation.yield(StreamSignal(item)) }
        }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in reading.cancel() }
    return signals
  }
}

extension StreamSignal<ServerSentEvent> {
  fileprivate init(_ item: EventStreamParser.Item) {
    switch item {
    case .event(let event, let hasOwnID): self = .message(event, id: hasOwnID ? event.id : nil)
    case .id(let id): self = .passed(id: id)
    case .retry(let wait): self = .retry(wait)
    }
  }
}
