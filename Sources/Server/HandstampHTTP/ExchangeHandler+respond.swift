#if HTTP
import HTTPTypes
import HummingbirdCore
import Logging
package import NIOCore

extension ExchangeHandler {
  /// Asks the responder, and sends its response: the part of an exchange that may run beside the event loop.
  @concurrent func respond(to request: Request, on channel: any Channel, as number: Int) async {
    defer {
      let loop = channel.eventLoop
      if loop.inEventLoop { taskEnded(number) } else { loop.execute { self.taskEnded(number) } }
    }
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
        if channel.eventLoop.inEventLoop {
          // There is nothing left to wait for.
          send(response.head, content.bytes, isLast: true)
        } else {
          try await transmit(response.head, content.bytes, isLast: true, on: channel)
        }
      } else {
        try await transmit(response.head, nil, isLast: false, on: channel)
        try await response.body.write(LiveBody(handler: self, channel: channel))
      }
    } catch {
      // The connection is gone, or the response is incomplete, which only its end can say.
      host.logger.trace("Response not sent", metadata: ["handstamp.error": "\(type(of: error))"])
      channel.close(promise: nil)
    }
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
