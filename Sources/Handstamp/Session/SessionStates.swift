import HandstampSupport

/// The states of a session, for any number of observers.
///
/// Every `for await` starts with the current state and gets each later one once, in order, without loss. Ends when the
/// controller is released.
public struct SessionStates: AsyncSequence, Sendable {
  public typealias Element = SessionState
  let hub: StateHub

  public func makeAsyncIterator() -> Iterator { Iterator(base: hub.subscribe().makeAsyncIterator()) }

  public struct Iterator: AsyncIteratorProtocol {
    var base: AsyncStream<Versioned>.AsyncIterator

    public mutating func next() async -> SessionState? {
      await base.nextHere()?.state
    }
  }
}

/// A state and the number of states before it.
struct Versioned: Sendable {
  var version: UInt64
  var state: SessionState
}

/// Passes every state to every subscriber, the current one first.
final class StateHub: Sendable {
  private static let first = Versioned(version: 0, state: .restoring)
  private let hub = Multicast(startingWith: first)

  var current: Versioned { hub.latest ?? StateHub.first }

  func subscribe() -> AsyncStream<Versioned> { hub.subscribe() }

  func publish(_ state: SessionState) {
    hub.publish { Versioned(version: ($0?.version ?? 0) + 1, state: state) }
  }

  func finish() { hub.finish() }
}
