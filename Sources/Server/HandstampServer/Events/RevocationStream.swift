#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import NIOCore

/// An open feed of ended sessions, as server-sent events. `revocations` has sessions, and until when tokens of theirs may be valid.
/// `verification` says that the verifier has everything up to a time: it follows a successful read of the store, and nothing else.
struct RevocationStream: EventSource {
  /// Time between two confirmations, unless the heartbeat is shorter.
  static let interval = Duration.seconds(2)
  static let patience = Duration.seconds(30)
  static var openCount: any WritableKeyPath<ServerMetrics.Snapshot, Int> & Sendable { \.openFeeds }
  /// How many events are read at once, and so how many sessions an event has at most.
  private static let page = 512

  let registry: Registry
  let clock: ServerClock
  /// Lifetime of this server's own access tokens.
  let life: Duration
  /// Time between two confirmations.
  let heartbeat: Duration
  /// Those of the store before `start` was read.
  let replacements: Int
  let start: RevocationCursor.Start
  let place: EventHub.Place
  let channel: any Channel
  let metrics: ServerMetrics

  /// A client that the operator has removed does not keep its stream for longer.
  var longest: Duration { .seconds(900) }

  /// The first look is due at once.
  @concurrent func begin(_ writer: inout any ResponseBodyWriter) async throws { bell.ring(.heartbeat) }

  @concurrent func pump(_ writer: inout any ResponseBodyWriter) async throws {
    let bell = bell
    var last = start.id
    var cursor: RevocationCursor? = if case .resumed(let cursor) = start { cursor } else { nil }
    for await _ in bell.bells {
      let rings = bell.take()
      if rings.contains(.over) { return }
      // From before the reads: what is committed from now on may be missing.
      let time = clock.now
      while case let events = try await registry.bareEvents(after: last, limit: RevocationStream.page),
        let newest = events.last
      {
        cursor = RevocationCursor(newest)
        last = newest.id
        if let block = try await block(of: events, cursor) { try await writer.write(block) }
        if events.count < RevocationStream.page { break }
      }
      // Another copy of the database has taken its place: the verifier has to start from the beginning.
      if registry.replacements != replacements { return }
      guard rings.contains(.heartbeat) else { continue }
      // A store that does not count its replacements.
      if try await registry.lastEventID() < last { return }
      var json = JSONText()
      json.add("at_ms", time.milliseconds)
      try await writer.write(event("verification", cursor, json.finished))
    }
  }

  /// The sessions that these events end, unless their tokens have expired; `nil` if there are none.
  private func block(of events: [StoredEvent], _ cursor: RevocationCursor?) async throws(RegistryError) -> ByteBuffer? {
    let ended = events.lazy.map(\.event).filter { $0.kind == .sessionRevoked }
    guard !ended.isEmpty else { return nil }
    // After the events: a server notes the life of its tokens before it issues any.
    let now = clock.now
    let longest = max(life, try await registry.longestTokenLife(now: now))
    var sessions: [UInt8] = []
    var count = 0
    for event in ended {
      let until = event.at.advanced(by: longest + Registry.tokenFlight)
      guard let session = event.session, until.advanced(by: Registry.clockDifference) > now else { continue }
      if count > 0 { sessions.append(UInt8(ascii: ",")) }
      JSONString.append(session.rawValue, to: &sessions)
      // Rounded up.
      sessions += Array(":\(until.seconds + 1)".utf8)
      count += 1
    }
    guard count > 0 else { return nil }
    metrics.update { [count] in $0.revocationsSent += count }
    return event("revocations", cursor, Array(#"{"sessions":{"#.utf8) + sessions + Array("}}".utf8))
  }

  private func event(_ name: String, _ cursor: RevocationCursor?, _ data: [UInt8]) -> ByteBuffer {
    let id = cursor.map { "id: \($0)\n" } ?? ""
    var buffer = ByteBuffer(string: "event: \(name)\n\(id)data: ")
    buffer.writeBytes(data)
    buffer.writeStaticString("\n\n")
    return buffer
  }
}
#endif
