#if canImport(Darwin)
import Foundation
public import HandstampCore
import HandstampSupport

// Where this is type-checked on Linux.
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Opens WebSockets (RFC 6455) with `URLSession`, for a ``MessageStream``: without its cookies, its cache and its redirects. Proxies are
/// those of the system's settings.
///
/// On watchOS, the system allows it to some apps only, such as those that play audio (Apple's TN3135). Elsewhere than on Apple's systems
/// use `WebSocketConnector` of HandstampTransports.
public struct URLSessionMessageConnector: MessageConnector {
  private let messageLimit: Int
  private let unreadLimit: Int

  /// - Parameters:
  ///   - messageLimit: the maximum size of a message in bytes; a longer one breaks the connection. Default 1 MiB.
  ///   - unreadLimit: the maximum number of unread messages; more of them break the connection, and the stream resumes. Default 1024.
  public init(messageLimit: Int = 1 << 20, unreadLimit: Int = 1_024) {
    self.messageLimit = messageLimit
    self.unreadLimit = unreadLimit
  }

  /// Opens a connection. The request's timeout limits the wait for the server's response to the upgrade.
  @concurrent public func open(_ request: TransportRequest) async throws(MessageError) -> any MessageConnection {
    let upgrade: URLRequest
    do throws(TransportError) { upgrade = try urlRequest(request) } catch { throw .transport(error) }
    let (answers, answer) = AsyncStream.makeStream(of: Result<Void, MessageError>.self)
    let session = URLSession(
      configuration: FoundationTransport.configuration, delegate: Receiver(answer), delegateQueue: nil)
    defer { session.finishTasksAndInvalidate() }
    let task = session.webSocketTask(with: upgrade)
    task.maximumMessageSize = messageLimit
    let deadline = FoundationTransport.deadline(request.timeout) {
      answer.yield(.failure(.transport(.timedOut)))
      answer.finish()
    }
    defer { deadline.cancel() }
    task.resume()
    for await found in answers {
      do throws(MessageError) { try found.get() } catch {
        task.cancel()
        throw error
      }
      return URLSessionMessageConnection(task, unreadLimit: unreadLimit)
    }
    task.cancel()
    throw .transport(.cancelled)
  }

  private func urlRequest(_ request: TransportRequest) throws(TransportError) -> URLRequest {
    guard let parts = URLComponents(string: request.url), let url = parts.url,
      ["ws", "wss"].contains(parts.scheme?.lowercased()), parts.host?.isEmpty == false, parts.user == nil,
      (1...65_535).contains(parts.port ?? 1)
    else { throw .invalidRequest("not a valid WebSocket URL") }
    try request.check()
    var result = URLRequest(url: url)
    // The stream's heartbeats find out whether a connection is dead.
    result.timeoutInterval = Duration.seconds(24 * 3600).inSeconds
    result.httpShouldHandleCookies = false
    for field in request.headers { result.addValue(field.value, forHTTPHeaderField: field.name) }
    return result
  }
}

/// Reports the response to an upgrade.
private final class Receiver: NSObject, URLSessionWebSocketDelegate, Sendable {
  private let answer: AsyncStream<Result<Void, MessageError>>.Continuation

  init(_ answer: AsyncStream<Result<Void, MessageError>>.Continuation) { self.answer = answer }

  func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol _: String?
  ) {
    answer.yield(.success(()))
    answer.finish()
  }

  /// The code is read where messages are received.
  func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
    didCloseWith _: URLSessionWebSocketTask.CloseCode, reason _: Data?
  ) {}

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let head = HTTPHead(task.response)
    switch head.status {
    case 0, 101:
      let cause = error.map { TransportError(urlError: $0) } ?? .connectionLost("the connection broke")
      answer.yield(.failure(.transport(cause)))
    default:
      let response = TransportResponse(status: head.status, headers: head.headers)
      answer.yield(.failure(.status(head.status, retryAfter: response.retryDelay(at: UnixTime.now))))
    }
    answer.finish()
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    // Following it would send the token wherever it points.
    completionHandler(nil)
  }
}

private final class URLSessionMessageConnection: MessageConnection {
  let incoming: AsyncThrowingStream<IncomingMessage, any Error>
  private let arrivals: AsyncThrowingStream<IncomingMessage, any Error>.Continuation
  private let task: URLSessionWebSocketTask

  init(_ task: URLSessionWebSocketTask, unreadLimit: Int) {
    let (incoming, arrivals) = AsyncThrowingStream.makeStream(
      of: IncomingMessage.self, bufferingPolicy: .bufferingOldest(unreadLimit))
    (self.task, self.incoming, self.arrivals) = (task, incoming, arrivals)
    arrivals.onTermination = { _ in task.cancel(with: .normalClosure, reason: nil) }
    Task { await URLSessionMessageConnection.receive(from: task, arrivals) }
  }

  deinit { task.cancel(with: .normalClosure, reason: nil) }

  /// Ends with the connection.
  private static func receive(
    from task: URLSessionWebSocketTask, _ arrivals: AsyncThrowingStream<IncomingMessage, any Error>.Continuation
  ) async {
    while let message = try? await task.receive() {
      let text: WireMessage
      if case .string(let string) = message {
        text = .text(string)
      } else if case .data(let data) = message {
        text = .bytes(Array(data))
      } else {
        continue
      }
      if case .dropped = arrivals.yield(.message(text)) {
        return arrivals.finish(throwing: TransportError.connectionLost("messages were not read in time"))
      }
    }
    // A connection that the server has closed has a code.
    arrivals.finish(throwing: task.closeCode == .invalid ? TransportError.connectionLost("the connection broke") : nil)
  }

  @concurrent func send(_ message: WireMessage) async throws(TransportError) {
    do {
      switch message {
      case .text(let text): try await task.send(.string(text))
      case .bytes(let bytes): try await task.send(.data(Data(bytes)))
      }
    } catch {
      throw .connectionLost("the connection broke")
    }
  }

  @concurrent func ping() async throws(TransportError) {
    guard task.state == .running else { throw .connectionLost("the connection broke") }
    // Nothing waits for the pong: one that is lost is reported late, or not at all.
    task.sendPing { [arrivals] error in
      if error == nil { arrivals.yield(.heartbeat) }
    }
  }

  func close() {
    arrivals.finish()
    task.cancel(with: .normalClosure, reason: nil)
  }
}
#endif
