#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import NIOCore

/// An open stream of server-sent events (WHATWG HTML section 9.2): an account's events after a cursor, in the store's order.
/// It ends when its token expires, right after the event that its own session has ended, and when the server shuts down.
struct EventStream: EventSource {
  let session: AuthenticatedSession
  /// The ID of the last event that the reader has.
  let cursor: EventID
  /// The remaining lifetime of the token.
  let longest: Duration
  let heartbeat: Duration
  let registry: Registry
  let place: EventHub.Place
  let channel: any Channel
  let metrics: ServerMetrics

  static let patience = Duration.seconds(5)
  static var openCount: any WritableKeyPath<ServerMetrics.Snapshot, Int> & Sendable { \.openStreams }

  /// The first block confirms that the stream is open, and allows resuming without loss. In the Shared Signals Framework,
  /// `verification` is the event that only confirms that a stream works.
  @concurrent func begin(_ writer: inout any ResponseBodyWriter) async throws {
    var json = JSONText()
    json.add("sid", session.id.rawValue)
    json.add("current", true)
    try await writer.write(block(id: cursor, name: "verification", data: json, retry: 1000))
    // Covers commits between the read of the cursor and the subscription.
    bell.ring(.news)
  }

  @concurrent func pump(_ writer: inout any ResponseBodyWriter) async throws {
    let bell = bell
    var last = cursor
    for await _ in bell.bells {
      let rings = bell.take()
      if rings.contains(.news) {
        while case let events = try await events(after: last), let newest = events.last {
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

  /// Reads events in a task of its own: a task keeps the memory of its deepest call, here 32 KB, until it ends.
  private func events(after last: EventID) async throws -> [StoredEvent] {
    async let events = registry.events(after: last, of: session.account)
    return try await events
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
