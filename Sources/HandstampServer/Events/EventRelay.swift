#if Server
import HandstampCore
import HandstampRegistry
import ServiceLifecycle

/// Announces what other processes commit to the same store: the end of a session reaches the streams of all of them.
struct EventRelay: Service, CustomStringConvertible {
  let server: SessionServer
  /// Services are logged by this.
  var description: String { "EventRelay" }

  /// A stream hears of an end within a second, the reading included.
  static let interval = Duration.milliseconds(500)
  private static let batch = 256

  func run() async throws {
    await cancelWhenGracefulShutdown {
      var last: EventID?
      repeat { last = await relay(after: last) } while (try? await Task.sleep(for: EventRelay.interval)) != nil
    }
  }

  /// Announces the accounts of all events after `last`, and returns the id of the newest. Without open streams nothing needs to be
  /// known: `nil`, and the next one begins at the newest event of its time.
  func relay(after last: EventID?) async -> EventID? {
    guard server.hub.hasListeners else { return nil }
    // A failing store is not asked more often for that, and its failure is told to those who ask it for something.
    guard var newest = last else {
      guard let newest = try? await server.registry.store.lastEventID() else { return nil }
      // What came between the first reading of a stream and this one would be missed.
      server.hub.announceAll()
      return newest
    }
    while case let events? = try? await server.registry.store.events(
      after: newest, account: nil, limit: EventRelay.batch), let end = events.last
    {
      for account in Set(events.map(\.event.account)) { server.hub.announce(account) }
      newest = end.id
      if events.count < EventRelay.batch { break }
    }
    return newest
  }
}
#endif
