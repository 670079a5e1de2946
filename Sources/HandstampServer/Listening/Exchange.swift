#if Server
import HandstampCore
import HandstampSupport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// What all exchanges of a listener share.
struct ExchangeHost: Sendable {
  let options: ListenerOptions
  /// Maximum size of a body.
  let bodyLimit: Int
  let respond: @Sendable (Request, ServerContext) async throws -> Response
  let table: ConnectionTable
  let tasks: RequestTasks
  let metrics: ServerMetrics
  let log: SeldomLog
  let logger: Logger
  let fields: ResponseFields
  let date: @Sendable () -> String
}

/// A request and its answer.
final class Exchange: Sendable {
  let request: Request
  let channel: any Channel
  private let handler: ExchangeHandler
  private let host: ExchangeHost

  init(request: Request, channel: any Channel, handler: ExchangeHandler, host: ExchangeHost) {
    self.request = request
    self.channel = channel
    self.handler = handler
    self.host = host
  }

  @concurrent func run() async {
    let logger = host.logger
    var context = ServerContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
    context.exchange = self
    var response: Response
    do {
      response = try await host.respond(request, context)
    } catch {
      // Routes answer their errors; this is the error of a middleware of tests and demos.
      logger.debug("Request failed", metadata: ["handstamp.error": "\(type(of: error))"])
      response = Response(status: .internalServerError)
    }
    response.headers[.date] = host.date()
    do {
      if response.body.contentLength != nil {
        let content = WholeBody()
        try await response.body.write(content)
        if channel.eventLoop.inEventLoop {
          // There is nothing left to wait for.
          handler.send(response.head, content.bytes, isLast: true)
        } else {
          try await send(response.head, content.bytes, isLast: true)
        }
      } else {
        try await send(response.head, nil, isLast: false)
        try await response.body.write(LiveBody(exchange: self))
      }
    } catch {
      // The connection is gone, or the answer is incomplete, which only its end can say.
      logger.trace("Answer not sent", metadata: ["handstamp.error": "\(type(of: error))"])
      channel.close(promise: nil)
    }
  }

  /// Sends a part of the answer, and returns when it was accepted.
  fileprivate func send(_ head: HTTPResponse?, _ body: ByteBuffer?, isLast: Bool) async throws {
    try await channel.eventLoop.flatSubmit { [channel, handler] in
      handler.send(head, body, isLast: isLast) ?? channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
    }.get()
  }

  /// Calls `body` once when the client has closed its side of the connection or stream.
  func whenInputClosed(_ body: @escaping @Sendable () -> Void) {
    channel.eventLoop.execute { [handler] in handler.whenInputClosed(body) }
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
  let exchange: Exchange

  func write(_ buffer: ByteBuffer) async throws { try await exchange.send(nil, buffer, isLast: false) }
  consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
    try await exchange.send(nil, nil, isLast: true)
  }
}

extension Problem {
  static let notHTTP = Problem(.badRequest, "invalid_request", "The request is not valid HTTP")
  static let headTooLarge = Problem(
    .requestHeaderFieldsTooLarge, "head_too_large", "The request line and header fields are too large")
  static let tooSlow = Problem(.requestTimeout, "request_timeout", "The request took too long to arrive")
}

/// The `Date` field, formatted once per second.
final class DateField: Sendable {
  private let cache = Locked<(second: Int64, text: String)>((-1, ""))

  var text: String {
    let second = UnixTime.current.milliseconds / 1000
    return cache.withLock { cache in
      if cache.second != second { cache = (second, HTTPDate.text(CivilTime(secondsSince1970: second)) + " GMT") }
      return cache.text
    }
  }
}
#endif
