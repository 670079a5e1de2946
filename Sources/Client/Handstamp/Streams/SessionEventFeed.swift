import Foundation

/// An event of an account's sessions, from the server's live feed. The names are those of CAEP and RISC (OpenID Shared
/// Signals).
public struct SessionEvent: Sendable, Hashable {
  /// `session-established`, `session-revoked`, `credential-change`, `account-disabled`, or a newer name.
  public var name: String
  /// The session concerned; `nil` for an event of the whole account.
  public var sessionID: SessionID?
  /// Why the session ended; `nil` for other events, and for a reason that this version does not know.
  public var reason: EndReason?
  /// The time of the event, by the server's clock.
  public var at: UnixTime?
  /// Whether the event concerns the reader's own session.
  public var isCurrent: Bool
  /// The event's ID in the stream.
  public var id: String?

  /// Returns `nil` for anything but a feed event, e.g. the connection's greeting.
  package init?(_ event: ServerSentEvent) {
    struct Body: Decodable {
      var sid: String?
      var reason: String?
      var provider: String?
      var at_ms: Int64?
      var current: Bool?
    }
    guard event.name != "verification", let body = try? JSONDecoder().decode(Body.self, from: Data(event.data.utf8))
    else { return nil }
    name = event.name
    sessionID = body.sid.map { SessionID($0) }
    reason = body.reason.flatMap { EndReason(rawValue: $0) }?.at(body.provider)
    at = body.at_ms.map { UnixTime(milliseconds: $0) }
    isCurrent = body.current ?? false
    id = event.id
  }
}

/// The live feed of an account's sessions, from the server that issues its tokens. Reading it ends a session here the moment it
/// ends at the server: a `session-revoked` event of the controller's session takes effect before it is yielded.
///
///     Task { await backend.sessionEvents(for: controller).follow() }
///
/// In all other respects it behaves like ``AuthenticatedStream``.
public struct SessionEventFeed: AsyncSequence, Sendable {
  public typealias Element = SessionEvent
  public typealias Failure = SessionError

  let stream: AuthenticatedStream

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: stream.makeAsyncIterator(), controller: stream.controller)
  }

  public struct Iterator: AsyncIteratorProtocol {
    var base: AuthenticatedStream.Iterator
    let controller: SessionController

    public mutating func next() async throws(SessionError) -> SessionEvent? {
      while let event = try await base.next() {
        guard let event = SessionEvent(event) else { continue }
        if event.name == "session-revoked", let session = event.sessionID {
          await controller.sessionDidEnd(session, reason: event.reason ?? .revoked)
        }
        return event
      }
      return nil
    }
  }

  /// Reads the feed while a user is signed in, now and later, and passes every event to `body`. Returns when its task is
  /// cancelled, and holds the controller until then.
  public func follow(_ body: @Sendable (SessionEvent) async -> Void = { _ in }) async {
    var last: SessionID?
    for await state in stream.controller.states {
      // Each session is read once; states that passed meanwhile do not begin another one.
      guard case .signedIn(let facts) = state, facts.id != last else { continue }
      last = facts.id
      do { for try await event in self { await body(event) } } catch {}
      if Task.isCancelled { return }
    }
  }
}

extension ServerBackend {
  /// Returns the live feed of the account that is signed in with `controller`.
  public func sessionEvents(
    for controller: SessionController, options: StreamOptions = StreamOptions()
  ) -> SessionEventFeed {
    SessionEventFeed(
      stream: AuthenticatedStream(
        TransportRequest(method: "GET", url: address("/v1/events")), controller: controller, transport: transport,
        options: options, lastEventID: nil))
  }
}
