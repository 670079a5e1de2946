#if HTTP
import NIOCore

/// One connection, as its limits see it: whether it is idle, how long its next request may take to arrive, and when it ends.
/// It is the first handler of the connection, so that it sees bytes before TLS and HTTP do.
// Except for `number`, which is set before anything reads it, everything is touched on the event loop of the channel alone.
final class Connection: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  /// Its number in the table.
  var number = -1
  /// Serves the requests of HTTP/1.1; `nil` before a TLS handshake is done, and with HTTP/2.
  weak var exchanges: ExchangeHandler?
  /// Whether HTTP/2 is spoken: bytes between two requests are then no beginning of another.
  var isMultiplexed = false
  /// Bytes of requests of HTTP/2 that have arrived, see ``FrameBudget``.
  var useful = 0
  /// Whether the request that is answered is the last one.
  private(set) var isDraining = false
  private(set) var isAborting = false

  private let channel: any Channel
  private let table: ConnectionTable
  private let options: ListenerOptions
  /// The work on an idle connection when the server shuts down.
  private let grace: Duration

  private var requests = 0
  /// Whether bytes of the next request have arrived.
  private var isHeadArriving = false
  private var deadline = NIODeadline.distantFuture
  private var timer: Scheduled<Void>?
  private var timerDeadline = NIODeadline.distantFuture

  init(channel: any Channel, table: ConnectionTable, options: ListenerOptions, grace: Duration) {
    self.channel = channel
    self.table = table
    self.options = options
    self.grace = grace
  }

  func handlerAdded(context: ChannelHandlerContext) { wait(TimeAmount(options.idleLimit)) }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    timer = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if !isMultiplexed, !isHeadArriving {
      isHeadArriving = true
      if requests == 0 { wait(TimeAmount(options.headLimit)) }
    }
    context.fireChannelRead(data)
  }

  // MARK: Requests

  /// The header fields of a request are complete.
  func requestBegan() {
    requests += 1
    isHeadArriving = false
    if requests == 1 { table.begin(number) }
  }

  /// A request is complete; bytes after it belong to another one.
  func requestArrived() { isHeadArriving = false }

  /// A request is answered, or will not be.
  ///
  /// - Parameter isLast: the connection ends, which the caller does.
  func requestEnded(isLast: Bool) {
    requests -= 1
    guard requests == 0 else { return }
    table.end(number)
    guard !isLast else { return }
    if isDraining { settle() } else { wait(TimeAmount(isHeadArriving ? options.headLimit : options.idleLimit)) }
  }

  // MARK: Time

  private func wait(_ time: TimeAmount) {
    deadline = .now() + time
    if timer == nil || deadline < timerDeadline { schedule() }
  }

  private func schedule() {
    timer?.cancel()
    timerDeadline = deadline
    timer = channel.eventLoop.scheduleTask(deadline: deadline) { [weak self] in self?.timePassed() }
  }

  private func timePassed() {
    timer = nil
    // The end of the request sets the next deadline.
    guard requests == 0 else { return }
    guard NIODeadline.now() >= deadline else { return schedule() }
    if isHeadArriving, let exchanges {
      exchanges.headIsLate()
      // The next is the end, whatever the client does.
      isHeadArriving = false
      wait(TimeAmount(ListenerOptions.lingerLimit) + .seconds(1))
    } else if isMultiplexed, !isDraining {
      quiesceNow()
    } else {
      channel.close(promise: nil)
    }
  }

  // MARK: The end

  /// Closes the connection unless a request has begun. From any thread.
  func closeIfIdle() {
    channel.eventLoop.execute { [self] in if requests == 0 { channel.close(promise: nil) } }
  }

  /// Closes the connection after the request that is answered; an idle one after its grace. From any thread.
  func quiesce() { channel.eventLoop.execute { [self] in quiesceNow() } }

  private func quiesceNow() {
    guard !isDraining else { return }
    isDraining = true
    if isMultiplexed { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
    if requests == 0 { settle() }
  }

  /// Ends the connection, which has no request, when the server shuts down.
  private func settle() {
    // The client may still have to confirm that it makes no new requests (RFC 9113 section 6.8).
    guard !isMultiplexed else { return wait(TimeAmount(ListenerOptions.lingerLimit)) }
    // A request that is arriving is one in flight.
    let time = isHeadArriving ? max(grace, options.headLimit) : grace
    if time <= .zero { channel.close(promise: nil) } else { wait(TimeAmount(time)) }
  }

  /// Closes the connection and cancels its requests. From any thread.
  func abort() {
    channel.eventLoop.execute { [self] in
      isAborting = true
      channel.close(promise: nil)
    }
  }
}
#endif
