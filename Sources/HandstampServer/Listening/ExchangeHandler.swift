#if Server
import HandstampCore
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Serves the requests of one HTTP/1.1 connection one after another, or the one request of an HTTP/2 stream.
///
/// The responder gets a request when its body is complete: a client that sends slowly costs a buffer, and no task. Bodies are
/// small, see ``ServerConfiguration/bodyLimit``; of one that is larger, the responder sees that it is.
// Everything is touched on the event loop of the channel alone; ``Exchange`` gets there by itself.
final class ExchangeHandler: ChannelDuplexHandler, RemovableChannelHandler, @unchecked Sendable {
  typealias InboundIn = HTTPRequestPart
  typealias OutboundIn = Never
  typealias OutboundOut = HTTPResponsePart

  private enum State {
    case waiting
    case receiving(HTTPRequest, ByteBuffer)
    case answering
    /// The last answer is sent; data that still arrive are ignored.
    case lingering
    case closed
  }

  private enum Arrival {
    case part(HTTPRequestPart)
    case failure
  }

  private let host: ExchangeHost
  let connection: Connection
  /// Whether this is a stream of HTTP/2.
  private let isStream: Bool
  private var context: ChannelHandlerContext?
  private var state = State.waiting
  /// Whether the connection serves another request after this answer.
  private var isKept = true
  private var isCounted = false
  private var isInputClosed = false
  /// Requests that the client sent before it had an answer. At most one read of them: reading pauses then.
  private var arrivals: [Arrival] = []
  private var isReadHeld = false
  private var bodyBegan = NIODeadline.now()
  private var bodyTimer: Scheduled<Void>?
  private var lingerTimer: Scheduled<Void>?
  private var writeTimer: Scheduled<Void>?
  private var writes = 0
  private var task: Task<Void, Never>?
  private var onInputClosed: (@Sendable () -> Void)?

  init(host: ExchangeHost, connection: Connection, isStream: Bool) {
    self.host = host
    self.connection = connection
    self.isStream = isStream
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    if !isStream { connection.exchanges = self }
  }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelInactive(context: ChannelHandlerContext) {
    let wasCounted = isCounted
    isCounted = false
    state = .closed
    arrivals = []
    for timer in [bodyTimer, lingerTimer, writeTimer] { timer?.cancel() }
    inputHasClosed()
    if let task {
      if connection.isAborting { task.cancel() }
      host.table.abandon(task, of: ObjectIdentifier(self))
    }
    if wasCounted { connection.requestEnded(isLast: !isStream) }
    context.fireChannelInactive()
  }

  // MARK: Reading

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let part = unwrapInboundIn(data)
    if case .end = part { connection.requestArrived() }
    switch state {
    case .waiting, .receiving: take(part)
    case .answering: if isKept { arrivals.append(.part(part)) }
    case .lingering, .closed: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if case .receiving(_, let body) = state { awaitBody(after: body.readableBytes) }
    context.fireChannelReadComplete()
  }

  func read(context: ChannelHandlerContext) {
    if arrivals.isEmpty { context.read() } else { isReadHeld = true }
  }

  private func take(_ part: HTTPRequestPart) {
    switch (part, state) {
    case (.head(let request), .waiting): begin(request)
    case (.body(let bytes), .receiving(let request, var body)):
      // The state lets go of the buffer, which would be copied otherwise.
      state = .waiting
      let room = host.bodyLimit + 1 - body.readableBytes
      if body.readableBytes == 0, bytes.readableBytes <= room {
        body = bytes
      } else {
        body.writeImmutableBuffer(
          bytes.getSlice(at: bytes.readerIndex, length: min(room, bytes.readableBytes)) ?? bytes)
      }
      if body.readableBytes > host.bodyLimit {
        answer(request, body, isComplete: false)
      } else {
        state = .receiving(request, body)
      }
    case (.end, .receiving(let request, let body)): answer(request, body, isComplete: true)
    // After a request that was refused by an earlier handler.
    case (_, _): break
    }
  }

  private func begin(_ request: HTTPRequest) {
    isCounted = true
    connection.requestBegan()
    bodyBegan = .now()
    // HTTP/1.1 is limited while it is parsed.
    guard request.headerFields.count <= host.options.headFields else { return refuse(.headTooLarge) }
    let length = request.headerFields[.contentLength].flatMap { Int($0) } ?? 0
    guard length <= host.bodyLimit else { return answer(request, ByteBuffer(), isComplete: false) }
    state = .receiving(request, ByteBuffer())
  }

  private func answer(_ request: HTTPRequest, _ body: ByteBuffer, isComplete: Bool, failure: (any Error)? = nil) {
    guard let context else { return }
    bodyTimer?.cancel()
    bodyTimer = nil
    isKept = isComplete && request.headerFields[.connection] != "close"
    state = .answering
    let content = failure.map { RequestBody(asyncSequence: BrokenBody(error: $0)) } ?? RequestBody(buffer: body)
    let exchange = Exchange(
      request: Request(head: request, body: content), channel: context.channel, handler: self, host: host)
    host.table.startsWork()
    task = Task {
      await exchange.run()
      exchange.channel.eventLoop.execute { self.taskEnded() }
    }
  }

  private func taskEnded() {
    task = nil
    host.table.endsWork(of: ObjectIdentifier(self))
  }

  // MARK: Failures and time

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard ExchangeHandler.isClientFault(error), !isStream else {
      context.close(promise: nil)
      return
    }
    switch state {
    case .waiting: refuse(error as? HTTPParserError == .headerOverflow ? .headTooLarge : .notHTTP)
    // The route decides the format of the answer.
    case .receiving(let request, let body): answer(request, body, isComplete: false, failure: error)
    case .answering: if isKept { arrivals.append(.failure) }
    case .lingering, .closed: break
    }
  }

  /// Whether an error is one of HTTP, and not of the connection.
  private static func isClientFault(_ error: any Error) -> Bool {
    !(error is IOError) && !(error is ChannelError) && ConnectionPipeline.isHTTP(error)
  }

  private func awaitBody(after count: Int) {
    guard bodyTimer == nil, let context else { return }
    let options = host.options
    let whole = options.bodyLimit + .milliseconds(count * 1000 / options.bodyRate)
    bodyTimer = context.eventLoop.scheduleTask(deadline: bodyBegan + TimeAmount(whole)) { [weak self] in
      self?.bodyTimePassed()
    }
  }

  private func bodyTimePassed() {
    bodyTimer = nil
    guard case .receiving(_, let body) = state else { return }
    let earned = host.options.bodyLimit + .milliseconds(body.readableBytes * 1000 / host.options.bodyRate)
    guard NIODeadline.now() >= bodyBegan + TimeAmount(earned) else { return awaitBody(after: body.readableBytes) }
    host.metrics.update { $0.slowRequests += 1 }
    host.log.note(.slowRequest, cause: "body")
    refuse(.tooSlow)
  }

  /// The head of a request has not arrived within its time.
  func headIsLate() {
    host.metrics.update { $0.slowRequests += 1 }
    host.log.note(.slowRequest, cause: "head")
    if case .waiting = state { refuse(.tooSlow) } else { context?.close(promise: nil) }
  }

  /// Answers without asking the responder, and ends the connection.
  private func refuse(_ problem: Problem) {
    bodyTimer?.cancel()
    bodyTimer = nil
    isKept = false
    state = .answering
    var response = problem.response
    host.fields.add(to: &response.headers)
    response.headers[.date] = host.date()
    send(response.head, problem.content, isLast: true)
  }

  // MARK: Answering

  /// Sends a part of the answer, the head first. Returns when the client's side has accepted it.
  @discardableResult
  func send(_ head: HTTPResponse?, _ body: ByteBuffer?, isLast: Bool) -> EventLoopFuture<Void>? {
    guard let context, case .answering = state else { return nil }
    if var head {
      if isStream {
        head.headerFields[.connection] = nil
      } else {
        if head.headerFields[.connection] == "close" || connection.isDraining { isKept = false }
        if !isKept { head.headerFields[.connection] = "close" }
      }
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      if !isKept { arrivals = [] }
    }
    let promise = context.eventLoop.makePromise(of: Void.self)
    if let body, body.readableBytes > 0 {
      context.write(wrapOutboundOut(.body(body)), promise: isLast ? nil : promise)
    } else if !isLast {
      promise.succeed()
    }
    if isLast { context.write(wrapOutboundOut(.end(nil)), promise: promise) }
    writes += 1
    context.flush()
    promise.futureResult.assumeIsolated().whenComplete { [self] result in
      writes -= 1
      if writes == 0 {
        writeTimer?.cancel()
        writeTimer = nil
      }
      if isLast, case .success = result { answered() }
    }
    if writes > 0, writeTimer == nil {
      writeTimer = context.eventLoop.scheduleTask(in: TimeAmount(host.options.writeLimit)) { [weak self] in
        self?.writeTimePassed()
      }
    }
    return promise.futureResult
  }

  private func writeTimePassed() {
    host.metrics.update { $0.slowReaders += 1 }
    host.log.note(.slowReader)
    context?.close(promise: nil)
  }

  private func answered() {
    guard let context else { return }
    onInputClosed = nil
    if isCounted {
      isCounted = false
      connection.requestEnded(isLast: !isStream && !isKept)
    }
    guard !isStream else {
      if !isKept { context.close(promise: nil) }
      return
    }
    guard isKept else { return linger() }
    state = .waiting
    takeArrivals()
    guard case .waiting = state else { return }
    if isInputClosed {
      linger()
    } else if isReadHeld {
      isReadHeld = false
      context.read()
    }
  }

  private func takeArrivals() {
    while !arrivals.isEmpty {
      switch state {
      case .waiting, .receiving: break
      case .answering, .lingering, .closed: return
      }
      switch arrivals.removeFirst() {
      case .part(let part): take(part)
      case .failure:
        if case .receiving(let request, let body) = state {
          answer(request, body, isComplete: false, failure: HTTPParserError.unknown)
        } else {
          refuse(.notHTTP)
        }
      }
    }
    if case .receiving(_, let body) = state { awaitBody(after: body.readableBytes) }
  }

  // MARK: The end

  /// Closes the sending side, and the connection when the client has done so too, or after a while: closing it at once could
  /// take the answer away from a client that is still sending.
  private func linger() {
    guard let context else { return }
    state = .lingering
    arrivals = []
    guard !isInputClosed else { return context.close(promise: nil) }
    lingerTimer = context.eventLoop.scheduleTask(in: TimeAmount(host.options.lingerLimit)) { [weak self] in
      self?.context?.close(promise: nil)
    }
    context.close(mode: .output, promise: nil)
    if isReadHeld {
      isReadHeld = false
      context.read()
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed {
      isInputClosed = true
      switch state {
      case .waiting, .receiving, .lingering: context.close(promise: nil)
      case .answering: inputHasClosed()
      case .closed: break
      }
    }
    context.fireUserInboundEventTriggered(event)
  }

  /// Calls `body` when the client has closed its side, at once if it has.
  func whenInputClosed(_ body: @escaping @Sendable () -> Void) {
    if case .closed = state { return body() }
    if isInputClosed { return body() }
    onInputClosed = body
  }

  private func inputHasClosed() {
    let action = onInputClosed
    onInputClosed = nil
    action?()
  }
}

/// The body of a request that is not valid HTTP.
private struct BrokenBody: AsyncSequence, Sendable {
  let error: any Error

  struct Iterator: AsyncIteratorProtocol {
    let error: any Error
    func next() async throws -> ByteBuffer? { throw error }
  }

  func makeAsyncIterator() -> Iterator { Iterator(error: error) }
}
#endif
