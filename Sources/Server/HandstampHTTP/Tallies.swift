#if HTTP
package import HandstampCore
import HandstampSupport

/// Sums up what may happen often, so that a flood of it fills no log: the first of a kind counts at once, the others of an interval
/// with the first one after it, or by ``rest(at:isEnd:)``.
package final class Tallies<Kind: Hashable & Sendable>: Sendable {
  private struct Tally {
    var since: UnixTime
    var count = 0
  }

  /// More kinds at once are not summed up.
  private let most = 4096
  private let interval: Duration
  private let tallies = Locked<[Kind: Tally]>([:])

  package init(interval: Duration) { self.interval = interval }

  /// Returns how many an entry stands for; `nil` if there is to be none now.
  package func count(_ kind: Kind, at now: UnixTime) -> Int? {
    tallies.withLock { tallies in
      if tallies.count >= most, tallies[kind] == nil {
        tallies = tallies.filter { $0.value.count > 0 }
        guard tallies.count < most else { return 1 }
      }
      if let tally = tallies[kind], isRunning(tally, at: now) {
        tallies[kind]?.count += 1
        return nil
      }
      defer { tallies[kind] = Tally(since: now) }
      return (tallies[kind]?.count ?? 0) + 1
    }
  }

  /// Returns those that no entry stands for yet, once their interval is over; at the end all.
  package func rest(at now: UnixTime, isEnd: Bool = false) -> [(kind: Kind, count: Int)] {
    tallies.withLock { tallies in
      let over = tallies.filter { isEnd || !isRunning($0.value, at: now) }
      tallies = tallies.filter { over[$0.key] == nil }
      return over.filter { $0.value.count > 0 }.map { ($0.key, $0.value.count) }
    }
  }

  private func isRunning(_ tally: Tally, at now: UnixTime) -> Bool {
    now >= tally.since && now.since(tally.since) < interval
  }
}
#endif
