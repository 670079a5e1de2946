#if Command
import Foundation
import Handstamp
import HandstampSupport

/// The session of a bridge with its remote server: the header fields that every request has, and the messages that
/// begin another session when the server has forgotten this one (Model Context Protocol, streamable HTTP).
struct RemoteSession: Sendable, Hashable {
  /// `Mcp-Session-Id`; `nil` for a server that has no sessions, and before one.
  private(set) var id: String?
  /// The version that `initialize` agreed on.
  private(set) var version: String?
  /// The client's own messages that began the session.
  private(set) var opening: ClientMessage?
  private(set) var opened: ClientMessage?
  /// Grows with each session, so that a late response of a previous one changes nothing.
  private(set) var generation = 0

  /// Whether the server has forgotten the session, and there is no other one yet.
  private(set) var isLost = false

  /// Whether another session can be begun in place of this one.
  var canReopen: Bool { opening != nil && opened != nil }

  /// Notes a message of the client before it is sent.
  mutating func note(_ message: ClientMessage) {
    if message.opens {
      // A session of its own; the previous one is over for the client.
      (id, version, opening, opened, isLost) = (nil, nil, message, nil, false)
      generation += 1
    } else if message.isOpened {
      opened = message
    }
  }

  /// Notes the head of the response to `initialize`.
  mutating func began(_ headers: [HeaderField], in generation: Int) {
    guard generation == self.generation else { return }
    isLost = false
    id = headers.first(named: "Mcp-Session-Id").flatMap { RemoteSession.isVisible($0) ? $0 : nil }
  }

  /// Notes the response to `initialize`.
  mutating func agreed(on version: String?, in generation: Int) {
    guard generation == self.generation, let version, RemoteSession.isVisible(version) else { return }
    self.version = version
  }

  /// The server does not know the session any longer.
  mutating func forget() {
    (id, version, isLost) = (nil, nil, true)
    generation += 1
  }

  /// The header fields of a message to the server.
  func fields(for message: ClientMessage) -> [HeaderField] {
    var fields = [
      HeaderField("Content-Type", "application/json"), HeaderField("Accept", "application/json, text/event-stream"),
    ]
    guard let part = message.single, ClientMessage.standsAlone(part.version), let version = part.version,
      RemoteSession.isVisible(version)
    else { return fields + (message.opens ? [] : ownFields) }
    fields.append(HeaderField("MCP-Protocol-Version", version))
    if let method = part.method { fields.append(HeaderField("Mcp-Method", RemoteSession.field(method))) }
    if let name = part.name, ["tools/call", "prompts/get", "resources/read"].contains(part.method) {
      fields.append(HeaderField("Mcp-Name", RemoteSession.field(name)))
    }
    return fields
  }

  /// The header fields of a request for events.
  func streamFields(after position: String?) -> [HeaderField] {
    [HeaderField("Accept", "text/event-stream"), HeaderField("Cache-Control", "no-store")] + ownFields
      + [position.map { HeaderField("Last-Event-ID", $0) }].compactMap { $0 }
  }

  /// The header fields of the session itself.
  var ownFields: [HeaderField] {
    [
      id.map { HeaderField("Mcp-Session-Id", $0) }, version.map { HeaderField("MCP-Protocol-Version", $0) },
    ].compactMap { $0 }
  }

  /// Whether a field can have the text as it is: visible ASCII.
  private static func isVisible(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (33...126).contains($0) }
  }

  /// Returns a text as a field's value; in base64 if a field cannot have it as it is, as the protocol has it.
  private static func field(_ text: String) -> String {
    let isPlain =
      text.utf8.allSatisfy { (32...126).contains($0) } && !text.hasPrefix(" ") && !text.hasSuffix(" ")
      && !text.hasPrefix("=?base64?")
    return isPlain ? text : "=?base64?" + Data(text.utf8).base64EncodedString() + "?="
  }
}

/// The place in a stream of events from which it can be resumed, and the wait before that (WHATWG HTML section 9.2).
struct StreamPosition: Sendable, Hashable {
  /// The last event's ID; `nil` if the server has sent none, so that nothing can be resumed.
  private(set) var id: String?
  private var pause: Duration?
  private var failures = 0
  /// How many attempts may fail in a row.
  private static let mostFailures = 5
  private static let pauses = Duration.milliseconds(100)...Duration.seconds(60)
  static let usualBackOff = RetryPolicy(base: .seconds(1), cap: .seconds(30))
  private let backOff: RetryPolicy

  /// - Parameter backOff: the waits after failures; the first one is its base, unless the server has asked for another.
  init(backOff: RetryPolicy = StreamPosition.usualBackOff) { self.backOff = backOff }

  /// Notes an item of the stream. Returns the message in it, if it has one.
  mutating func take(_ item: EventStreamParser.Item) -> [UInt8]? {
    switch item {
    case .id(let id): move(to: id)
    case .retry(let pause):
      self.pause = min(max(pause, StreamPosition.pauses.lowerBound), StreamPosition.pauses.upperBound)
    case .event(let event, let hasOwnID):
      if hasOwnID, let id = event.id { move(to: id) }
      // An event without data only sets a position.
      guard event.name == "message", !event.data.isEmpty else { return nil }
      failures = 0
      return Array(event.data.utf8)
    }
    return nil
  }

  /// Notes that the server has accepted a connection, where it is no failure if that ends without an event: proxies cut idle ones.
  mutating func connected() { failures = 0 }

  /// Returns how long to wait before the next connection; `nil` if too many have failed.
  mutating func pause(entropy: UInt64) -> Duration? {
    failures += 1
    guard failures <= StreamPosition.mostFailures else { return nil }
    let wait = backOff.delay(afterAttempt: failures, entropy: entropy, retryAfter: nil)
    return failures == 1 ? pause ?? backOff.base : max(pause ?? .zero, wait)
  }

  /// An ID that no header field can have does not count; an empty one takes the position back (section 9.2.6).
  private mutating func move(to id: String) {
    let fits = !id.isEmpty && id.utf8.allSatisfy { $0 >= 32 && $0 != 127 }
    self.id = fits ? id : nil
  }
}
#endif
