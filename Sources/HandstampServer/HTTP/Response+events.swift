#if Server
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

/// A stream of server-sent events (WHATWG HTML section 9.2).
protocol EventSource: Sendable {
  /// Writes until the stream ends.
  ///
  /// - Parameter exchange: tells when the reader disconnects; `nil` if the caller cancels the stream then.
  @concurrent func run(_ writer: inout any ResponseBodyWriter, watching exchange: Exchange?) async throws
}

extension Response {
  /// The answer that a stream of events writes.
  ///
  /// - Parameter lost: the line of the log if the store fails. The reader notices at once, because the stream ends, and comes back
  ///   with its last event ID.
  static func events(
    from source: some EventSource, to request: Request, _ context: some SessionRequestContext, lost: Logger.Message
  ) -> Response {
    let logger = context.logger
    let exchange = (context as? ServerContext)?.exchange
    return Response(
      status: .ok,
      // The connection cannot be reused: its inbound side was consumed while watching for the client to disconnect.
      headers: [
        .contentType: "text/event-stream", .cacheControl: "no-store", .connection: "close", .xAccelBuffering: "no",
      ],
      body: .init { writer in
        do {
          if let exchange {
            try await source.run(&writer, watching: exchange)
          } else {
            try await request.body.consumeWithCancellationOnInboundClose { _ in
              try await source.run(&writer, watching: nil)
            }
          }
        } catch let error as RegistryError {
          logger.error(lost, metadata: ["handstamp.cause": "\(error)"])
        }
        try await writer.finish(nil)
      })
  }
}
#endif
