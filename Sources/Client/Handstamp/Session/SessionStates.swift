import HandstampSupport

/// The states of a session, for any number of observers.
///
/// Every `for await` starts with the current state and gets each later one once, in order, without loss. Ends when the
/// controller is released.
public struct SessionStates: AsyncSequence, Sendable {
  public typealias Element = SessionState
  let hub: Multicast<Versioned>

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
  static let first = Versioned(version: 0, state: .restoring)
  var version: UInt64
  var state: SessionState
}
