#if Server
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

/// A stream of server-sent events (WHATWG HTML section 9.2).
protocol EventSource: Sendable {
  /// Ends the stream when it is rung for that.
  var bell: Doorbell { get }
  /// Writes until the stream ends.
  @concurrent func run(_ writer: inout any ResponseBodyWriter) async throws
}

extension Response {
  /// The answer that a stream of events writes.
  ///
  /// - Parameter lost: the line of the log if the store fails. The reader notices at once, because the stream ends, and comes back
  ///   with its last event ID.
  static func events(
    from source: some EventSource, to request: Request, _ context: some SessionRequestContext, lost: Logger.Message
  ) -> Response {
    let (logger, channel) = (context.logger, context.channel)
    return Response(
      status: .ok,
      // The connection cannot be reused: its inbound side was consumed while watching for the client to disconnect.
      headers: [
        .contentType: "text/event-stream", .cacheControl: "no-store", .connection: "close", .xAccelBuffering: "no",
      ],
      body: .init { writer in
        do {
          if try await channel.whenInputClosed({ [bell = source.bell] in bell.ring(.over) }) {
            try await source.run(&writer)
          } else {
            try await request.body.consumeWithCancellationOnInboundClose { _ in try await source.run(&writer) }
          }
        } catch let error as RegistryError {
          logger.error(lost, metadata: ["handstamp.cause": "\(error)"])
        }
        try await writer.finish(nil)
      })
  }
}
#endif
