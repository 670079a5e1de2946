#if Server
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle

/// A stream of server-sent events (WHATWG HTML section 9.2).
protocol EventSource: Sendable {
  /// Its bell ends the stream when it is rung for that.
  var place: EventHub.Place { get }
  var channel: any Channel { get }
  var metrics: ServerMetrics { get }
  /// The number of open streams of its kind.
  static var openCount: any WritableKeyPath<ServerMetrics.Snapshot, Int> & Sendable { get }
  /// Time without an event after which its bell rings.
  var heartbeat: Duration { get }
  /// Maximum length of the stream.
  var longest: Duration { get }
  /// How long a reader may still take to accept data after that.
  static var patience: Duration { get }
  /// Writes the first block, and rings the bell for the first look.
  @concurrent func begin(_ writer: inout any ResponseBodyWriter) async throws
  /// Writes until the stream ends or the reader disconnects.
  @concurrent func pump(_ writer: inout any ResponseBodyWriter) async throws
}

extension EventSource {
  var bell: Doorbell { place.bell }

  /// Writes until the stream ends or the reader disconnects. Timers of the event loop ring the bell: a task for each would cost
  /// several times the memory.
  @concurrent fileprivate func run(_ writer: inout any ResponseBodyWriter) async throws {
    let (bell, channel) = (bell, channel)
    metrics.update { $0[keyPath: Self.openCount] += 1 }
    let beats = channel.eventLoop.scheduleRepeatedTask(
      initialDelay: TimeAmount(heartbeat), delay: TimeAmount(heartbeat)
    ) { _ in bell.ring(.heartbeat) }
    let end = channel.eventLoop.scheduleTask(in: TimeAmount(longest)) {
      bell.ring(.over)
      // A reader that no longer accepts data loses its connection.
      channel.eventLoop.scheduleTask(in: TimeAmount(Self.patience)) { channel.close(promise: nil) }
    }
    defer {
      place.leave()
      beats.cancel()
      end.cancel()
      metrics.update { $0[keyPath: Self.openCount] -= 1 }
    }
    try await begin(&writer)
    // Where the server runs in another program, its services may learn of the shutdown only after all requests.
    try await withGracefulShutdownHandler {
      try await pump(&writer)
    } onGracefulShutdown: {
      bell.ring(.over)
    }
  }
}

extension Response {
  /// The response that a stream of events writes.
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
      body: .init { [body = request.body] writer in
        do {
          if try await channel.whenInputClosed({ [bell = source.bell] in bell.ring(.over) }) {
            try await source.run(&writer)
          } else {
            try await body.consumeWithCancellationOnInboundClose { _ in try await source.run(&writer) }
          }
        } catch let error as RegistryError {
          logger.error(lost, metadata: ["handstamp.cause": "\(error)"])
        }
        try await writer.finish(nil)
      })
  }
}
#endif
