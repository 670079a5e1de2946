import HandstampCore

/// Opens the connections of a live stream: the part in which server-sent events and WebSocket differ.
protocol StreamConnector: Sendable {
  associatedtype Message: Sendable

  /// Connects with `token`, resuming after `id`. Signals come in order; the stream ends with the connection. Cancelling the
  /// reading task closes it.
  @concurrent func connect(
    with token: AccessToken, after id: String?
  ) async throws(MessageError) -> AsyncThrowingStream<StreamSignal<Message>, any Error>
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

extension StreamMachine.Closing {
  /// Maps a response other than the expected one, or none.
  init(_ error: MessageError) {
    switch error {
    case .status(204, _): self = .finished
    case .status(401, _): self = .unauthorized
    // A page instead of a stream, or a redirect: perhaps a captive portal that is gone in a minute.
    case .status(200..<400, let wait), .status(408, let wait), .status(425, let wait), .status(429, let wait):
      self = .unavailable(retryAfter: wait)
    case .status(let status, _) where (400..<500).contains(status):
      self = .refused(.refused(code: "status_\(status)", detail: nil))
    case .status(_, let wait): self = .unavailable(retryAfter: wait)
    case .transport(.invalidRequest(let text)): self = .refused(.invalidResponse(text))
    case .transport: self = .unavailable(retryAfter: nil)
    }
  }

  /// Maps the error of a missing token.
  init(_ error: SessionError) {
    switch error {
    case .signedOut, .sessionEnded, .noRefreshToken, .storageOutdated: self = .refused(error)
    // A stream that retried would ask the user again and again.
    case .presence, .redirect: self = .refused(error)
    case .requestFailed(_, let wait): self = .unavailable(retryAfter: wait)
    case .storage, .tokenRejected, .refused, .invalidResponse, .unsupported, .contentFailed, .cancelled:
      self = .unavailable(retryAfter: nil)
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
  ) async throws(MessageError) -> AsyncThrowingStream<StreamSignal<ServerSentEvent>, any Error> {
    var request = request.authorized(by: token)
    request.headers.removeAll { ["last-event-id", "accept", "cache-control"].contains($0.name.lowercased()) }
    request.headers += [HeaderField("Accept", "text/event-stream"), HeaderField("Cache-Control", "no-store")]
    if let id { request.headers.append(HeaderField("Last-Event-ID", id)) }
    let response: TransportStream
    do throws(TransportError) { response = try await transport.open(request) } catch { throw .transport(error) }
    let type = response.headers.first(named: "Content-Type")?.lowercased() ?? ""
    guard response.status == 200, type.hasPrefix("text/event-stream") else {
      throw .status(response.status, retryAfter: response.head.retryDelay(at: clock.now().wall))
    }
    let (signals, continuation) = AsyncThrowingStream.makeStream(of: StreamSignal<ServerSentEvent>.self)
    let reading = Task {
      var parser = EventStreamParser()
      do {
        for try await chunk in response.body {
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
