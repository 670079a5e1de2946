import Foundation

/// Something that happened to an account's sessions, as the server's live feed tells it. The names are those of CAEP and RISC
/// (OpenID Shared Signals).
public struct SessionEvent: Sendable, Hashable {
  /// `session-established`, `session-revoked`, `credential-change`, `account-disabled`, or a name that is new.
  public var name: String
  /// Whose; nothing for an event of the whole account.
  public var session: SessionID?
  /// Why a session ended.
  public var reason: EndReason?
  /// When, by the server's clock.
  public var at: UnixTime?
  /// Whether it is about the session that reads.
  public var isCurrent: Bool
  public var id: String?

  /// Nothing for what is no event of the feed; the greeting of a connection is none.
  public init?(_ event: ServerSentEvent) {
    struct Body: Decodable {
      var sid: String?
      var reason: String?
      var at_ms: Int64?
      var current: Bool?
    }
    guard event.name != "verification", let body = try? JSONDecoder().decode(Body.self, from: Data(event.data.utf8))
    else { return nil }
    name = event.name
    session = body.sid.map { SessionID($0) }
    reason = body.reason.flatMap { EndReason(rawValue: $0) }
    at = body.at_ms.map { UnixTime(milliseconds: $0) }
    isCurrent = body.current ?? false
    id = event.id
  }
}

/// The live feed of an account's sessions, from the server that issues its tokens. Reading it is what ends a session here the
/// moment it ends there: a `session-revoked` about the session of the controller is acted upon before it is handed out.
///
///     Task { await backend.sessionEvents(for: controller).follow() }
///
/// For everything else it behaves as ``AuthenticatedStream`` does.
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
        if event.name == "session-revoked", let session = event.session {
          await controller.sessionEnded(session, reason: event.reason ?? .revoked)
        }
        return event
      }
      return nil
    }
  }

  /// Reads the feed for as long as somebody is signed in, now and later, and hands every event to `body`. Returns when its
  /// task is cancelled, and holds the controller until then.
  public func follow(_ body: @Sendable (SessionEvent) async -> Void = { _ in }) async {
    var last: SessionID?
    for await state in stream.controller.states {
      // Each session has its turn; the states that passed while it was read are not about another.
      guard case .signedIn(let facts) = state, facts.session != last else { continue }
      last = facts.session
      do { for try await event in self { await body(event) } } catch {}
      if Task.isCancelled { return }
    }
  }
}

extension ServerBackend {
  /// The live feed of the account that is signed in with `controller`.
  public func sessionEvents(
    for controller: SessionController, options: StreamOptions = StreamOptions()
  ) -> SessionEventFeed {
    SessionEventFeed(
      stream: AuthenticatedStream(
        TransportRequest(method: "GET", url: address("/v1/events")), controller: controller, transport: transport,
        options: options, lastEventID: nil))
  }
}
