#if HTTP
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// How an exchange answers, and ends.
extension ExchangeHandler {
  /// Sends a part of the response, the head first. Returns when the client's side has accepted it.
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
      guard isLast else { return }
      switch result {
      case .success: answered()
      case .failure: self.context?.close(promise: nil)
      }
    }
    if writes > 0, writeTimer == nil {
      writeTimer = context.eventLoop.scheduleTask(in: TimeAmount(host.options.writeLimit)) { [weak self] in
        self?.writeTimePassed()
      }
    }
    return promise.futureResult
  }

  private func writeTimePassed() {
    host.count(.slowReaders, 1)
    host.log.note(.slowReader)
    context?.close(promise: nil)
  }

  private func answered() {
    guard let context else { return }
    onInputClosed = nil
    guard !isStream else {
      endRequest()
      if !isKept { context.close(promise: nil) }
      return
    }
    guard isKept else { return linger() }
    while isRestDue, !arrivals.isEmpty {
      if case .part(.end) = arrivals.removeFirst() { isRestDue = false }
    }
    guard isRestDue else { return goOn() }
    state = .skipping
    guard !isInputClosed else { return linger() }
    lingerTimer = context.eventLoop.scheduleTask(in: TimeAmount(host.options.bodyLimit)) { [weak self] in
      self?.context?.close(promise: nil)
    }
    readOn()
  }

  /// The rest of a request that was answered early has arrived.
  func restArrived() {
    isRestDue = false
    guard case .skipping = state else { return }
    lingerTimer?.cancel()
    lingerTimer = nil
    goOn()
  }

  /// Waits for the next request.
  private func goOn() {
    endRequest()
    state = .waiting
    takeArrivals()
    guard case .waiting = state else { return }
    if isInputClosed { linger() } else { readOn() }
  }

  private func endRequest() {
    guard isCounted else { return }
    isCounted = false
    connection.requestEnded(isLast: !isStream && !isKept)
  }

  private func readOn() {
    guard isReadHeld else { return }
    isReadHeld = false
    context?.read()
  }

  private func takeArrivals() {
    while !arrivals.isEmpty {
      switch state {
      case .waiting, .receiving: break
      case .answering, .skipping, .lingering, .closed: return
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

  /// Ends the connection after the last response: receives the rest of the request, closes the sending side, and closes the
  /// connection when the client has done so too or is silent. Closing it at once could take the response away from a client that
  /// is still sending.
  func linger() {
    guard let context else { return }
    isKept = false
    isRestDue = false
    endRequest()
    state = .lingering
    arrivals = []
    guard !isInputClosed else { return context.close(promise: nil) }
    lingerEnd = .now() + TimeAmount(isRequestOpen ? host.options.bodyLimit : ListenerOptions.lingerLimit)
    awaitSilence()
    if !isRequestOpen { context.close(mode: .output, promise: nil) }
    readOn()
  }

  func awaitSilence() {
    guard let context else { return }
    lingerTimer?.cancel()
    let end = isRequestOpen ? lingerEnd : min(lingerEnd, .now() + TimeAmount(ListenerOptions.lingerLimit))
    lingerTimer = context.eventLoop.scheduleTask(deadline: end) { [weak self] in self?.context?.close(promise: nil) }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed {
      isInputClosed = true
      switch state {
      case .waiting, .receiving, .skipping, .lingering: context.close(promise: nil)
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

  func inputHasClosed() {
    let action = onInputClosed
    onInputClosed = nil
    action?()
  }
}
#endif
