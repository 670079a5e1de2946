import HandstampCore
import Synchronization

/// Wakes the open event streams of an account when something was committed.
///
/// It carries no events, only the word that there are some: each stream reads them from the store, after its own last id.
/// So the order on a stream is the store's, nothing is lost when two commits announce themselves in the other order, and a
/// slow reader costs no memory.
final class EventHub: Sendable {

  /// One open stream's place in the hub. It ends with ``cancel()``.
  struct Subscription: Sendable {
    fileprivate let hub: EventHub
    fileprivate let account: AccountID
    fileprivate let number: UInt64
    /// At least one after each commit; several may come as one. Ends when the server stops.
    let wakes: AsyncStream<Void>

    func cancel() { hub.remove(number, of: account) }
  }

  private struct Members {
    var next: UInt64 = 0
    var stopped = false
    var streams: [AccountID: [UInt64: AsyncStream<Void>.Continuation]] = [:]
  }

  private let members = Mutex(Members())

  func subscribe(to account: AccountID) -> Subscription {
    let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = members.withLock { members -> UInt64 in
      members.next += 1
      if members.stopped {
        continuation.finish()
      } else {
        members.streams[account, default: [:]][members.next] = continuation
      }
      return members.next
    }
    return Subscription(hub: self, account: account, number: number, wakes: wakes)
  }

  /// To be called after every commit that wrote events of `account`.
  func announce(_ account: AccountID) {
    let streams = members.withLock { $0.streams[account].map { Array($0.values) } ?? [] }
    for stream in streams { stream.yield() }
  }

  /// Ends all streams, and every later one at once.
  func stop() {
    let streams = members.withLock { members -> [AsyncStream<Void>.Continuation] in
      members.stopped = true
      let all = members.streams.values.flatMap(\.values)
      members.streams = [:]
      return all
    }
    for stream in streams { stream.finish() }
  }

  private func remove(_ number: UInt64, of account: AccountID) {
    let stream = members.withLock { members in
      let stream = members.streams[account]?.removeValue(forKey: number)
      if members.streams[account]?.isEmpty == true { members.streams[account] = nil }
      return stream
    }
    stream?.finish()
  }
}
