#if Operator && DEBUG
import Foundation
import Handstamp

@testable import HandstampCommand
@testable import HandstampCommandLine

/// A device that listens to its account's live feed, and ends its session when the feed says so.
final class LiveFeed: Sendable {
  struct Event: Sendable {
    var name: String
    var session: String?
    var reason: String?
    var at: ContinuousClock.Instant
  }
  private struct Body: Decodable {
    var sid: String?
    var reason: String?
  }

  private let task: Task<Void, Never>
  private let events: AsyncStream<Event>

  /// Starts listening, and returns once the feed is open.
  init(_ client: AccountClient) async throws {
    let feed = try client.api.stream("/v1/events")
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    self.events = events
    task = Task {
      defer { continuation.finish() }
      do {
        for try await event in feed {
          let now = ContinuousClock.now
          let body = try? JSONDecoder().decode(Body.self, from: Data(event.data.utf8))
          if event.name == "session-revoked", let session = body?.sid {
            let reason = body?.reason.flatMap { EndReason(rawValue: $0) } ?? .revoked
            await client.controller.sessionDidEnd(SessionID(session), reason: reason)
          }
          continuation.yield(Event(name: event.name, session: body?.sid, reason: body?.reason, at: now))
        }
      } catch {
        // The session has ended; a waiting `next` sees the end of the stream.
      }
    }
    _ = try await next("verification")
  }

  deinit { task.cancel() }

  /// Waits for the next event with this name.
  func next(_ name: String) async throws -> Event {
    let events = events
    return try await within(.seconds(240), "the event \(name)") {
      for await event in events where event.name == name { return event }
      throw TourFailure("the live feed ended before \(name)")
    }
  }
}
#endif
