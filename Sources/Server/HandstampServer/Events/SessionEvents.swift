#if Server
import HandstampCore
public import HandstampRegistry
import Logging

/// The events of all accounts, in the store's order: ``RegistryEvent/Kind/sessionEstablished``,
/// ``RegistryEvent/Kind/sessionRevoked`` with the reason, and the others. Get one with ``SessionServer/events(after:)``.
///
/// An event is read from the store after its commit, wherever it was made, so none is lost or invented. A program that keeps
/// the last ``StoredEvent/id`` continues there after a restart, as long as ``RegistryLimits/retention`` reaches. While the
/// store cannot be read, the sequence waits. It ends when the server shuts down or the task is cancelled.
///
/// A store that was restored from an older copy gives the same IDs to other events. The sequence goes on with those that come after
/// it has noticed; a program that continues with an ID from before the restore may miss some.
public struct SessionEvents: AsyncSequence, Sendable {
  public typealias Element = StoredEvent
  public typealias Failure = Never

  let registry: Registry
  let hub: EventHub
  let start: EventID
  /// Those of the store when `start` was read.
  let replacements: Int
  let logger: Logger

  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  public struct Iterator: AsyncIteratorProtocol {
    public typealias Failure = Never

    private let events: SessionEvents
    /// Hears of commits for as long as the iterator exists.
    private let place: EventHub.Place
    private var bells: AsyncStream<Void>.Iterator
    private var position: EventID
    private var replacements: Int
    private var pending: ArraySlice<StoredEvent> = []
    private var isOver = false

    fileprivate init(_ events: SessionEvents) {
      self.events = events
      place = events.hub.place()
      bells = place.bell.bells.makeAsyncIterator()
      (position, replacements) = (events.start, events.replacements)
    }

    @concurrent public mutating func next() async -> StoredEvent? {
      while !Task.isCancelled {
        if let event = pending.popFirst() {
          position = event.id
          return event
        }
        do throws(RegistryError) {
          // Another copy of the store has taken its place, and gives the same IDs to other events.
          let before = exchange(&replacements, with: events.registry.replacements)
          if before != replacements { position = try await events.registry.lastEventID() }
          pending = try await events.registry.events(after: position)[...]
          if pending.isEmpty { position = Swift.min(position, try await events.registry.lastEventID()) }
        } catch {
          events.logger.error("Events cannot be read", metadata: ["handstamp.cause": "\(error)"])
          try? await Task.sleep(for: .seconds(1))
          continue
        }
        guard pending.isEmpty else { continue }
        // The last events before the end are read once more.
        guard !isOver, await bells.next() != nil else { return nil }
        isOver = place.bell.take().contains(.over)
      }
      return nil
    }
  }
}

extension SessionServer {
  /// Returns the events of all accounts after the one with that ID, and then those to come; `nil` starts now.
  ///
  /// Events of other servers on the same store arrive within a second if ``services`` run.
  public func events(after id: EventID? = nil) async throws(RegistryError) -> SessionEvents {
    let replacements = registry.replacements
    let start: EventID
    if let id { start = id } else { start = try await registry.lastEventID() }
    return SessionEvents(
      registry: registry, hub: lasting.hub, start: start, replacements: replacements, logger: configuration.logger)
  }
}
#endif
