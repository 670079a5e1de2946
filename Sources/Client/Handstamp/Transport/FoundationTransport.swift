import Dispatch
import Foundation
import HandstampSupport

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Requests with Foundation's `URLSession`: on Apple platforms all of them, on Linux where libcurl is not found.
///
/// On Linux an abandoned request is not cancelled: its caller returns at once, its response is dropped, its socket is closed by
/// the time-out. Cancelling there races with the arriving response and deadlocks or crashes inside Foundation
/// (swift-corelibs-foundation issues 5412 and 3296). Streams are silent when they are cancelled, and are cancelled. An open one takes half a
/// core: Foundation also waits for when it could write to the socket, which is always. A request with a body has a connection of its own,
/// at the cost of a handshake: Foundation would not notice that a kept-alive one was dropped.
final class FoundationTransport: Transport {
  private let session: URLSession
  private let receiver = Receiver()

  init() {
    session = FoundationTransport.session(for: receiver)
  }

  private static func session(for receiver: Receiver, on queue: OperationQueue? = nil) -> URLSession {
    URLSession(configuration: configuration, delegate: receiver, delegateQueue: queue)
  }

  /// Without cookies, a cache and credentials of its own.
  static var configuration: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpShouldSetCookies = false
    configuration.httpCookieAcceptPolicy = .never
    configuration.httpCookieStorage = nil
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    return configuration
  }

  deinit { session.finishTasksAndInvalidate() }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    if request.mayReuseConnection, FoundationTransport.reusesConnections(for: request) {
      return try await send(request, in: session, receiver)
    }
    return try await sendAlone(request)
  }

  @concurrent func upload(
    _ request: TransportRequest, fromFile path: String
  ) async throws(TransportError) -> TransportResponse {
    try await sendAlone(request, from: URL(fileURLWithPath: path))
  }

  @concurrent func download(
    _ request: TransportRequest, toFile path: String
  ) async throws(TransportError) -> TransportResponse {
    try await sendAlone(request, to: path)
  }

  /// Sends a request in a session of its own, which has its own connections: the server may be closing none of them.
  private func sendAlone(
    _ request: TransportRequest, from source: URL? = nil, to target: String? = nil
  ) async throws(TransportError) -> TransportResponse {
    let receiver = Receiver()
    let queue = target == nil ? nil : PacedQueue()
    queue?.maxConcurrentOperationCount = 1
    let session = FoundationTransport.session(for: receiver, on: queue)
    defer { session.finishTasksAndInvalidate() }
    return try await send(request, from: source, to: target, in: session, receiver)
  }

  /// Foundation on Linux does not notice that a kept-alive connection was dropped during a request with a body: it computes on a
  /// whole core until the time limit of the request.
  private static func reusesConnections(for request: TransportRequest) -> Bool {
    #if canImport(FoundationNetworking)
    request.body.isEmpty
    #else
    true
    #endif
  }

  private func send(
    _ request: TransportRequest, from source: URL? = nil, to target: String? = nil, in session: URLSession,
    _ receiver: Receiver
  ) async throws(TransportError) -> TransportResponse {
    let task: URLSessionDataTask
    if let source {
      // `URLSession` reads the file in parts, also on Linux.
      task = session.uploadTask(with: try urlRequest(request, idleLimit: request.timeout), fromFile: source)
    } else {
      // Our deadline counts for a whole response; `URLSession`'s only closes abandoned requests.
      let idleLimit = target == nil ? request.timeout + .seconds(30) : request.timeout
      task = session.dataTask(with: try urlRequest(request, idleLimit: idleLimit))
    }
    let (results, continuation) = AsyncStream.makeStream(of: Result<TransportResponse, TransportError>.self)
    receiver.expect(task, .whole(continuation, limit: request.maximumResponseSize, file: target))
    // A file takes as long as it takes; `URLSession`'s own timer, which restarts with every part, limits the time without one.
    let isWhole = source == nil && target == nil
    let deadline =
      !isWhole
      ? nil
      : FoundationTransport.deadline(request.timeout) {
        continuation.yield(.failure(.timedOut))
        continuation.finish()
      }
    defer { deadline?.cancel() }
    task.resume()
    for await result in results {
      if case .failure(.timedOut) = result { giveUp(task, receiver) }
      return try result.get()
    }
    giveUp(task, receiver)
    throw .cancelled
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    // A session of its own: one session has few connections to a host, and streams would leave none for requests.
    let receiver = Receiver()
    let session = FoundationTransport.session(for: receiver)
    defer { session.finishTasksAndInvalidate() }
    let task = session.dataTask(with: try urlRequest(request, idleLimit: .seconds(24 * 3600)))
    let (heads, head) = AsyncStream.makeStream(of: Result<HTTPHead, TransportError>.self)
    let (body, chunks) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    receiver.expect(task, .stream(head, chunks))
    chunks.onTermination = { _ in
      // Only a reader that leaves needs a cancellation; asynchronously, because this may run inside a callback.
      guard receiver.forget(task) else { return }
      DispatchQueue.global().async { task.cancel() }
    }
    let deadline = FoundationTransport.deadline(request.timeout) {
      head.yield(.failure(.timedOut))
      head.finish()
    }
    defer { deadline.cancel() }
    task.resume()
    for await result in heads {
      if case .success(let head) = result {
        return TransportStream(status: head.status, headers: head.headers, body: body)
      }
      chunks.finish()
      _ = try result.get()
    }
    chunks.finish()
    throw .cancelled
  }

  /// `URLSession`'s own timer restarts with every byte; this one does not, so that a server which trickles bytes cannot hold a
  /// caller indefinitely.
  static func deadline(_ limit: Duration, _ over: @escaping @Sendable () -> Void) -> Task<Void, Never> {
    Task.detached(priority: .userInitiated) {
      if (try? await Task.sleep(for: limit)) != nil { over() }
    }
  }

  /// Abandons a request. On Linux it is not cancelled, because the response may be arriving; its data is dropped, see
  /// ``Receiver``.
  private func giveUp(_ task: URLSessionDataTask, _ receiver: Receiver) {
    #if canImport(Darwin)
    task.cancel()
    #endif
    receiver.forget(task)
  }

  private func urlRequest(
    _ request: TransportRequest, idleLimit: Duration
  ) throws(TransportError) -> URLRequest {
    guard let url = URL(string: request.url), let scheme = url.scheme?.lowercased(),
      ["http", "https"].contains(scheme),
      url.host?.isEmpty == false
    else { throw .invalidRequest("not a valid URL: \(request)") }
    try request.check()
    var result = URLRequest(url: url)
    result.httpMethod = request.method
    result.timeoutInterval = idleLimit.inSeconds
    result.httpShouldHandleCookies = false
    for field in request.headers { result.addValue(field.value, forHTTPHeaderField: field.name) }
    if !request.body.isEmpty { result.httpBody = Data(request.body) }
    return result
  }
}

struct HTTPHead: Sendable {
  var status: Int
  var headers: [HeaderField]

  init(_ response: URLResponse?) {
    let response = response as? HTTPURLResponse
    status = response?.statusCode ?? 0
    headers = (response?.allHeaderFields ?? [:]).flatMap { name, value -> [HeaderField] in
      guard let name = name as? String, let value = value as? String else { return [] }
      let isJoined = name.lowercased() == "set-cookie"
      return (isJoined ? SetCookieFields.split(value) : [value]).map { HeaderField(name, $0) }
    }
  }
}

/// The callbacks of a download, of which a few wait at most: where there are more, Foundation on Linux stops reading from the socket. Its
/// own queue has no limit, so that a body which arrives faster than it is written would be in memory.
// Unchecked, as its superclass: a semaphore is all that is added.
private final class PacedQueue: OperationQueue, @unchecked Sendable {
  private let room = DispatchSemaphore(value: 16)

  override func addOperation(_ block: @escaping @Sendable () -> Void) {
    room.wait()
    super.addOperation { [room] in
      block()
      room.signal()
    }
  }
}

/// Routes the callbacks of `URLSession` to the callers that expect them.
private final class Receiver: NSObject, URLSessionDataDelegate, Sendable {
  enum Expected: Sendable {
    /// The body of a response with a status of 2xx is written to `file`, if there is one.
    case whole(AsyncStream<Result<TransportResponse, TransportError>>.Continuation, limit: Int, file: String?)
    case stream(
      AsyncStream<Result<HTTPHead, TransportError>>.Continuation, AsyncThrowingStream<[UInt8], any Error>.Continuation)
  }
  private struct Exchange: Sendable {
    var expected: Expected
    var head: HTTPHead?
    var body: [UInt8] = []
    var file: NewFile?
  }
  private let exchanges = Locked<[Int: Exchange]>([:])

  func expect(_ task: URLSessionTask, _ expected: Expected) {
    let number = task.taskIdentifier
    exchanges.withLock { $0[number] = Exchange(expected: expected) }
  }

  /// Whether the response was still expected.
  @discardableResult
  func forget(_ task: URLSessionTask) -> Bool {
    let number = task.taskIdentifier
    return exchanges.withLock { $0.removeValue(forKey: number) != nil }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    // The 3xx itself is the response: following it would send token and body wherever it points.
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    let number = dataTask.taskIdentifier
    let head = HTTPHead(response)
    let (waiting, failure) = exchanges.withLock { exchanges -> (Expected?, TransportError?) in
      exchanges[number]?.head = head
      guard let expected = exchanges[number]?.expected else { return (nil, nil) }
      guard case .whole(_, _, let path?) = expected, (200..<300).contains(head.status) else { return (expected, nil) }
      // Under the lock, so that an abandoned request creates no file once its caller has removed it.
      do throws(SystemError) { exchanges[number]?.file = try NewFile(path) } catch {
        return (expected, TransportError(receiving: error))
      }
      return (expected, nil)
    }
    if case .stream(let continuation, _) = waiting {
      continuation.yield(.success(head))
      continuation.finish()
    }
    if let failure { end(dataTask, failure) }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let number = dataTask.taskIdentifier
    let bytes = Array(data)
    // Written here and not by the caller, so that the next part waits for the disk.
    if let file = exchanges.withLock({ $0[number]?.file }) {
      do throws(SystemError) { try file.append(bytes) } catch { end(dataTask, TransportError(receiving: error)) }
      return
    }
    let isTooLarge = exchanges.withLock { exchanges -> Bool in
      // Never a copy of the exchange: its body would be copied with every chunk.
      switch exchanges[number]?.expected {
      case nil: return false
      case .stream(_, let chunks)?:
        chunks.yield(bytes)
        return false
      case .whole(_, let limit, _)?:
        guard (exchanges[number]?.body.count ?? 0) + bytes.count <= limit else { return true }
        exchanges[number]?.body += bytes
        return false
      }
    }
    if isTooLarge { end(dataTask, .tooLarge) }
  }

  /// Ends a request whose response cannot be received; the rest is abandoned, from outside the callback. On Linux its data is dropped
  /// instead: to cancel a task while its response arrives hangs or crashes (swift-corelibs-foundation 5412, 3296).
  private func end(_ task: URLSessionTask, _ error: TransportError) {
    let number = task.taskIdentifier
    if case .whole(let continuation, _, _) = exchanges.withLock({ $0.removeValue(forKey: number)?.expected }) {
      continuation.yield(.failure(error))
      continuation.finish()
    }
    #if canImport(Darwin)
    DispatchQueue.global().async { task.cancel() }
    #endif
  }

  #if canImport(FoundationNetworking)
  /// A 401 with Basic or Digest is the response itself, as any other. Foundation on Linux asks here for a credential once the response
  /// is complete, and without one neither ends the request nor repeats it.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    complete(task, nil)
    completionHandler(.rejectProtectionSpace, nil)
  }
  #endif

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    complete(task, error.map(TransportError.init(urlError:)))
  }

  private func complete(_ task: URLSessionTask, _ failure: TransportError?) {
    let number = task.taskIdentifier
    guard let exchange = exchanges.withLock({ $0.removeValue(forKey: number) }) else { return }
    switch exchange.expected {
    case .whole(let continuation, _, _):
      let head = exchange.head ?? HTTPHead(task.response)
      continuation.yield(
        failure.map { .failure($0) }
          ?? .success(TransportResponse(status: head.status, headers: head.headers, body: exchange.body)))
      continuation.finish()
    case .stream(let head, let chunks):
      if exchange.head == nil {
        head.yield(failure.map { .failure($0) } ?? .success(HTTPHead(task.response)))
        head.finish()
      }
      chunks.finish(throwing: failure)
    }
  }
}

extension TransportError {
  /// Words of our own and the code: a URL error's text contains the whole URL.
  init(urlError error: any Error) {
    let code = (error as? URLError)?.code
    let number = "URL error \(code?.rawValue ?? 0)"
    switch code {
    case .timedOut?: self = .timedOut
    case .cancelled?: self = .cancelled
    case .cannotFindHost?, .dnsLookupFailed?: self = .notConnected("the host was not found (\(number))")
    case .cannotConnectToHost?: self = .notConnected("no connection to the host (\(number))")
    case .notConnectedToInternet?, .internationalRoamingOff?, .dataNotAllowed?:
      self = .notConnected("no network (\(number))")
    case .serverCertificateUntrusted?, .serverCertificateHasBadDate?, .serverCertificateHasUnknownRoot?,
      .serverCertificateNotYetValid?:
      self = .notConnected("the server's certificate is not trusted (\(number))")
    case .appTransportSecurityRequiresSecureConnection?:
      self = .notConnected("App Transport Security requires HTTPS (\(number))")
    case .some: self = .connectionLost("the connection broke (\(number))")
    case nil: self = .connectionLost("\(type(of: error))")
    }
  }
}
