#if HTTP
import HTTPTypes
import HummingbirdCore
import Logging
package import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Serves the requests of one HTTP/1.1 connection one after another, or the one request of an HTTP/2 stream.
///
/// The responder gets a request when its body is complete: a client that sends slowly costs a buffer, and no task. Bodies are
/// small, see ``ListenerOptions/bodySize``; reading one that is larger throws.
// Everything but `host` is touched on the event loop of the channel alone; ``transmit(_:_:isLast:on:)`` gets there by itself.
final class ExchangeHandler: ChannelDuplexHandler, RemovableChannelHandler, @unchecked Sendable {
  typealias InboundIn = HTTPRequestPart
  typealias OutboundIn = Never
  typealias OutboundOut = HTTPResponsePart

  enum State {
    case waiting
    case receiving(HTTPRequest, ByteBuffer)
    case answering
    /// The response is sent; the rest of its request is received and ignored.
    case skipping
    /// The last response is sent; data that still arrive are ignored.
    case lingering
    case closed
  }

  enum Arrival {
    case part(HTTPRequestPart)
    case failure
  }

  let host: ExchangeHost
  let connection: Connection
  /// Whether this is a stream of HTTP/2.
  let isStream: Bool
  var context: ChannelHandlerContext?
  var state = State.waiting
  /// Whether the connection serves another request after this response.
  var isKept = true
  var isCounted = false
  /// Whether the client has not sent its latest request to the end.
  var isRequestOpen = false
  /// Whether the rest of the request that was answered is still to be ignored.
  var isRestDue = false
  var isInputClosed = false
  /// Requests that the client sent before it had a response. At most one read of them: reading pauses then.
  var arrivals: [Arrival] = []
  var isReadHeld = false
  private var bodyBegan = NIODeadline.now()
  private var bodyTimer: Scheduled<Void>?
  var lingerTimer: Scheduled<Void>?
  var lingerEnd = NIODeadline.now()
  var writeTimer: Scheduled<Void>?
  var writes = 0
  private var task: Task<Void, Never>?
  /// Counts the requests, so that the end of a task is not mistaken for that of the next.
  private var number = 0
  var onInputClosed: (@Sendable () -> Void)?

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
    // The rest of a refused body is still on its way: two windows of a stream.
    if isStream, isRequestOpen { connection.useful += 2 << 16 }
    state = .closed
    arrivals = []
    for timer in [bodyTimer, lingerTimer, writeTimer] { timer?.cancel() }
    inputHasClosed()
    if let task { leave(task) }
    if wasCounted { connection.requestEnded(isLast: !isStream) }
    context.fireChannelInactive()
  }

  // MARK: Reading

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let part = unwrapInboundIn(data)
    switch part {
    case .head: isRequestOpen = true
    case .body(let bytes): if isStream { connection.useful += bytes.readableBytes }
    case .end:
      isRequestOpen = false
      connection.requestArrived()
    }
    if isRestDue, arrivals.isEmpty {
      if case .end = part { restArrived() }
      return
    }
    switch state {
    case .waiting, .receiving: take(part)
    case .answering, .skipping: if isKept { arrivals.append(.part(part)) }
    case .lingering: if case .end = part { context.close(mode: .output, promise: nil) }
    case .closed: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    switch state {
    case .receiving(_, let body): awaitBody(after: body.readableBytes)
    case .lingering: awaitSilence()
    case .waiting, .answering, .skipping, .closed: break
    }
    context.fireChannelReadComplete()
  }

  func read(context: ChannelHandlerContext) {
    if arrivals.isEmpty { context.read() } else { isReadHeld = true }
  }

  func take(_ part: HTTPRequestPart) {
    switch (part, state) {
    case (.head(let request), .waiting): begin(request)
    case (.body(let bytes), .receiving(let request, var body)):
      // The state lets go of the buffer, which would be copied otherwise.
      state = .waiting
      let room = host.options.bodySize + 1 - body.readableBytes
      if body.readableBytes == 0, bytes.readableBytes <= room {
        body = bytes
      } else {
        body.writeImmutableBuffer(
          bytes.getSlice(at: bytes.readerIndex, length: min(room, bytes.readableBytes)) ?? bytes)
      }
      if body.readableBytes > host.options.bodySize {
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
    var request = request
    if isStream {
      connection.useful += request.headerFields.reduce(128) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
      // Browsers send each cookie in a field of its own (RFC 9113 section 8.2.3).
      if let cookies = request.headerFields[.cookie] { request.headerFields[values: .cookie] = [cookies] }
    }
    // HTTP/1.1 is limited while it is parsed.
    guard request.headerFields.count <= host.options.headFields else { return refuse(.headTooLarge) }
    guard !isStream || ExchangeHandler.isWellFormed(request) else { return refuse(.notHTTP) }
    let length = request.headerFields[.contentLength].flatMap { Int($0) } ?? 0
    guard length <= host.options.bodySize else { return answer(request, ByteBuffer(), isComplete: false) }
    state = .receiving(request, ByteBuffer())
  }

  /// Whether a request of HTTP/2 names one path and one host (RFC 9113 section 8.3.1).
  private static func isWellFormed(_ request: HTTPRequest) -> Bool {
    let path = request.path ?? ""
    guard path.hasPrefix("/") || (path == "*" && request.method == .options) || request.method == .connect else {
      return false
    }
    guard let host = HTTPField.Name("host") else { return true }
    let names = request.headerFields[values: host] + [request.authority].compactMap { $0 }
    return names.allSatisfy { $0.lowercased() == names[0].lowercased() } && names.first.map(Host.isGood) ?? true
  }

  func answer(_ request: HTTPRequest, _ body: ByteBuffer, isComplete: Bool, failure: (any Error)? = nil) {
    guard let context else { return }
    bodyTimer?.cancel()
    bodyTimer = nil
    // A client that is told that the connection ends may give up sending, and miss the response.
    isRestDue = !isComplete && failure == nil && !isStream && request.headerFields[.connection] != "close"
    // The bytes after CONNECT are no request (RFC 9110 section 9.3.6).
    isKept = (isComplete || isRestDue) && request.headerFields[.connection] != "close" && request.method != .connect
    state = .answering
    let broken: (any Error)? =
      isComplete ? nil : failure ?? NIOTooManyBytesError(maxBytes: host.options.bodySize)
    let content = broken.map { RequestBody(asyncSequence: BrokenBody(error: $0)) } ?? RequestBody(buffer: body)
    let (channel, whole) = (context.channel, Request(head: request, body: content))
    host.table.startsWork()
    number += 1
    let number = number
    if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
      let executor = host.tasks.executor(for: request.path, on: channel.eventLoop)
      task = Task(executorPreference: executor) { [self] in await respond(to: whole, on: channel, as: number) }
    } else {
      task = Task { [self] in await respond(to: whole, on: channel, as: number) }
    }
  }

  private func leave(_ task: Task<Void, Never>) {
    if connection.isAborting { task.cancel() }
    host.table.abandon(task, of: ObjectIdentifier(self))
  }

  /// Sends a body piece by piece, in a task of its own: that of the responder would keep the request, and the memory of its deepest call,
  /// for as long as an event stream is open.
  private func send(_ body: ResponseBody, on channel: any Channel, as number: Int) {
    let sending = Task { [self] in
      do { try await body.write(LiveBody(handler: self, channel: channel)) } catch { notSent(error, on: channel) }
      channel.eventLoop.execute { self.taskEnded(number) }
    }
    task = sending
    if case .closed = state { leave(sending) }
  }

  func taskEnded(_ number: Int) {
    guard number == self.number else { return host.table.endsWork(of: nil) }
    task = nil
    host.table.endsWork(of: ObjectIdentifier(self))
  }

  // MARK: Failures and time

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // One of HTTP, and not of the connection.
    let isClientFault = !(error is IOError) && !(error is ChannelError) && ConnectionPipeline.isHTTP(error)
    guard isClientFault, !isStream else { return context.close(promise: nil) }
    isRequestOpen = false
    switch state {
    case .waiting: refuse(error as? HTTPParserError == .headerOverflow ? .headTooLarge : .notHTTP)
    // The route decides the format of the response.
    case .receiving(let request, let body): answer(request, body, isComplete: false, failure: error)
    case .answering where isRestDue: isKept = false
    case .answering: if isKept { arrivals.append(.failure) }
    case .skipping: linger()
    case .lingering, .closed: break
    }
  }

  func awaitBody(after count: Int) {
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
    host.count(.slowRequests, 1)
    host.log.note(.slowRequest, cause: "body")
    refuse(.tooSlow)
  }

  /// The head of a request has not arrived within its time.
  func headIsLate() {
    host.count(.slowRequests, 1)
    host.log.note(.slowRequest, cause: "head")
    if case .waiting = state { refuse(.tooSlow) } else { context?.close(promise: nil) }
  }

  /// Answers without asking the responder, and ends the connection.
  func refuse(_ refusal: Refusal) {
    bodyTimer?.cancel()
    bodyTimer = nil
    isKept = false
    isRequestOpen = false
    state = .answering
    let (answer, content) = refusal.response
    var response = answer
    host.options.fields.add(to: &response.headers)
    response.headers[.date] = host.date.text
    send(response.head, content, isLast: true)
  }
}

/// The body of a request that is not valid HTTP, or too large: reading it throws.
private struct BrokenBody: AsyncSequence, Sendable {
  let error: any Error

  struct Iterator: AsyncIteratorProtocol {
    let error: any Error
    func next() async throws -> ByteBuffer? { throw error }
  }

  func makeAsyncIterator() -> Iterator { Iterator(error: error) }
}

extension ExchangeHandler {
  /// Asks the responder, and sends its response: the part of an exchange that may run beside the event loop.
  @concurrent func respond(to request: Request, on channel: any Channel, as number: Int) async {
    let loop = channel.eventLoop
    var response: Response
    do {
      response = try await host.respond(request, channel)
    } catch {
      // Routes answer their errors; this is the error of a middleware of tests and demos.
      host.logger.debug("Request failed", metadata: ["handstamp.error": "\(type(of: error))"])
      response = Response(status: .internalServerError)
    }
    response.headers[.date] = host.date.text
    do {
      if response.body.contentLength != nil {
        let content = WholeBody()
        try await response.body.write(content)
        if loop.inEventLoop {
          // There is nothing left to wait for.
          send(response.head, content.bytes, isLast: true)
        } else {
          try await transmit(response.head, content.bytes, isLast: true, on: channel)
        }
      } else {
        try await transmit(response.head, nil, isLast: false, on: channel)
        return loop.execute { [body = response.body] in self.send(body, on: channel, as: number) }
      }
    } catch { notSent(error, on: channel) }
    if loop.inEventLoop { taskEnded(number) } else { loop.execute { self.taskEnded(number) } }
  }

  /// The connection is gone, or the response is incomplete, which only its end can say.
  private func notSent(_ error: any Error, on channel: any Channel) {
    host.logger.trace("Response not sent", metadata: ["handstamp.error": "\(type(of: error))"])
    channel.close(promise: nil)
  }

  /// Sends a part of the response, and returns when it was accepted.
  fileprivate func transmit(
    _ head: HTTPResponse?, _ body: ByteBuffer?, isLast: Bool, on channel: any Channel
  ) async throws {
    try await channel.eventLoop.flatSubmit { [self] in
      send(head, body, isLast: isLast) ?? channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
    }.get()
  }
}

extension Channel {
  /// Calls `body` once when the client of a ``Listener`` has closed its side of this connection or stream.
  ///
  /// - Returns: `false`, and will not call, if another server serves it.
  /// - Throws: if it is closed.
  package func whenInputClosed(_ body: @escaping @Sendable () -> Void) async throws -> Bool {
    do {
      try await pipeline.handler(type: ExchangeHandler.self).map { $0.whenInputClosed(body) }.get()
      return true
    } catch {
      // A channel loses its handlers when it is closed.
      guard isActive else { throw ChannelError.ioOnClosedChannel }
      return false
    }
  }
}

/// Collects a body whose length is known, to send it at once.
private final class WholeBody: ResponseBodyWriter {
  private(set) var bytes = ByteBuffer()

  func write(_ buffer: ByteBuffer) {
    if bytes.readableBytes == 0 { bytes = buffer } else { bytes.writeImmutableBuffer(buffer) }
  }

  func finish(_ trailingHeaders: HTTPFields?) {}
}

/// Sends a body piece by piece.
private struct LiveBody: ResponseBodyWriter {
  let handler: ExchangeHandler
  let channel: any Channel

  func write(_ buffer: ByteBuffer) async throws {
    try await handler.transmit(nil, buffer, isLast: false, on: channel)
  }

  consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
    try await handler.transmit(nil, nil, isLast: true, on: channel)
  }
}
#endif
