#if Server
import HandstampCore
import HandstampRegistry
import ServiceLifecycle

/// Announces commits of other processes to the same store, so that the end of a session reaches the streams of every server.
struct EventRelay: NamedService {
  let server: SessionServer
  /// The polling interval where a store does not tell of events: streams report an ended session within a second, including the
  /// read.
  static let interval = Duration.milliseconds(500)
  /// How often a relay that is told of events checks whether it still is.
  private static let tick = Duration.milliseconds(100)
  private static let batch = 256

  func run() async throws {
    await cancelWhenGracefulShutdown {
      let news = server.registry.news()
      let bell = Doorbell()
      await withTaskGroup(of: Void.self) { group in
        if let news {
          group.addTask { for await _ in news.arrivals { bell.ring(.news) } }
        }
        group.addTask {
          var last = ContinuousClock.now
          while (try? await Task.sleep(for: news == nil ? EventRelay.interval : EventRelay.tick)) != nil {
            guard ContinuousClock.now - last >= news?.patience() ?? .zero else { continue }
            bell.ring(.news)
            last = .now
          }
        }
        bell.ring(.news)
        var last: EventID?
        var replacements = server.registry.replacements
        for await _ in bell.bells {
          _ = bell.take()
          // The numbers of a copy belong to other events, and may be smaller or larger than those before.
          let before = exchange(&replacements, with: server.registry.replacements)
          if before != replacements {
            server.lasting.hub.endStreams()
            last = nil
          }
          last = await relay(after: last)
        }
        group.cancelAll()
      }
    }
  }

  /// Announces the accounts of all events after `last`, and returns the ID of the newest event. Without open streams it returns
  /// `nil`, and the next call starts at the newest event then.
  func relay(after last: EventID?) async -> EventID? {
    guard server.lasting.hub.hasListeners else { return nil }
    // Do not poll a failing store more often; requests that need the store report its failure.
    guard var newest = last else {
      guard let newest = try? await server.registry.lastEventID() else { return nil }
      // Events between the first read of a stream and this one would be missed otherwise.
      server.lasting.hub.announceAll()
      return newest
    }
    while case let events? = try? await server.registry.bareEvents(
      after: newest, limit: EventRelay.batch), let end = events.last
    {
      for account in Set(events.map(\.event.account)) { server.lasting.hub.announce(account) }
      newest = end.id
      if events.count < EventRelay.batch { return newest }
    }
    // A store that does not count its replacements: numbers are smaller than before.
    if let last = try? await server.registry.lastEventID(), last < newest {
      server.lasting.hub.endStreams()
      return last
    }
    return newest
  }
}
#endif
