#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import NIOCore
import ServiceLifecycle

/// An open stream of server-sent events (WHATWG HTML section 9.2): an account's events after a cursor, in the store's order.
/// It ends when its token expires, right after the event that its own session has ended, and when the server shuts down.
struct EventStream: EventSource {
  let session: AuthenticatedSession
  /// The ID of the last event that the reader has.
  let cursor: EventID
  /// The remaining lifetime of the token.
  let life: Duration
  let heartbeat: Duration
  let place: EventHub.Place
  /// Where its timers run.
  let eventLoop: any EventLoop
  let metrics: ServerMetrics
  /// Closes the connection of a reader that no longer accepts data.
  let abort: @Sendable () -> Void
  /// Returns the account's next events after an ID, in order; empty if there are none.
  let read: @Sendable (EventID) async throws -> [StoredEvent]

  var bell: Doorbell { place.bell }
  /// How long a reader may still take to accept data after its token has expired.
  private static let patience = Duration.seconds(5)

  /// Writes until the stream ends or the reader disconnects. Timers of the event loop ring the bell: a task for each would cost
  /// several times the memory.
  @concurrent func run(_ writer: inout any ResponseBodyWriter) async throws {
    let bell = bell
    metrics.update { $0.openStreams += 1 }
    let beats = eventLoop.scheduleRepeatedTask(
      initialDelay: TimeAmount(heartbeat), delay: TimeAmount(heartbeat)
    ) { _ in bell.ring(.heartbeat) }
    let end = eventLoop.scheduleTask(in: TimeAmount(life)) { bell.ring(.over) }
    let aborting = eventLoop.scheduleTask(in: TimeAmount(life + EventStream.patience)) { [abort] in abort() }
    defer {
      place.leave()
      beats.cancel()
      end.cancel()
      aborting.cancel()
      metrics.update { $0.openStreams -= 1 }
    }
    try await writer.write(opening)
    // Covers commits between the read of the cursor and the subscription.
    bell.ring(.news)
    // Where the server runs in another program, its services may learn of the shutdown only after all requests.
    try await withGracefulShutdownHandler {
      try await pump(bell, &writer)
    } onGracefulShutdown: {
      bell.ring(.over)
    }
  }

  @concurrent private func pump(_ bell: Doorbell, _ writer: inout any ResponseBodyWriter) async throws {
    var last = cursor
    for await _ in bell.bells {
      let rings = bell.take()
      if rings.contains(.news) {
        while case let events = try await read(last), let newest = events.last {
          for stored in events {
            try await writer.write(block(of: stored))
            metrics.update { $0.eventsSent += 1 }
            if stored.event.kind == .sessionRevoked, stored.event.session == session.id { return }
          }
          last = newest.id
        }
      }
      if rings.contains(.over) { return }
      if rings == .heartbeat { try await writer.write(ByteBuffer(string: ": \n\n")) }
    }
  }

  /// The first block: confirms that the stream is open, and allows resuming without loss. In the Shared Signals Framework,
  /// `verification` is the event that only confirms that a stream works.
  private var opening: ByteBuffer {
    var json = JSONText()
    json.add("sid", session.id.rawValue)
    json.add("current", true)
    return block(id: cursor, name: "verification", data: json, retry: 1000)
  }

  private func block(of stored: StoredEvent) -> ByteBuffer {
    let event = stored.event
    var json = JSONText()
    json.add("sid", ifPresent: event.session?.rawValue)
    json.add("reason", ifPresent: event.reason?.rawValue)
    json.add("provider", ifPresent: event.reason?.provider)
    json.add("at", event.at.description)
    json.add("at_ms", event.at.milliseconds)
    json.add("current", event.session == session.id)
    return block(id: stored.id, name: event.kind.rawValue, data: json)
  }

  private func block(id: EventID, name: String, data: JSONText, retry: Int? = nil) -> ByteBuffer {
    let retry = retry.map { "retry: \($0)\n" } ?? ""
    var buffer = ByteBuffer(string: "id: \(id)\nevent: \(name)\n\(retry)data: ")
    buffer.writeBytes(data.finished)
    buffer.writeStaticString("\n\n")
    return buffer
  }
}
#endif
