#if Server
import HandstampCore
import HandstampSupport

/// Sums up what may happen often, so that a flood of it fills no log: the first of a kind counts at once, the others of an interval
/// with the first one after it.
final class Tallies<Kind: Hashable & Sendable>: Sendable {
  private struct Tally {
    var since: UnixTime
    var count = 0
  }

  /// More kinds at once are forgotten, and begin anew.
  private let most = 4096
  private let interval: Duration
  private let tallies = Locked<[Kind: Tally]>([:])

  init(interval: Duration) { self.interval = interval }

  /// Returns how many an entry stands for; `nil` if there is to be none now.
  func count(_ kind: Kind, at now: UnixTime) -> Int? {
    tallies.withLock { tallies in
      if tallies.count >= most, tallies[kind] == nil { tallies = [:] }
      if let tally = tallies[kind], now >= tally.since, now.since(tally.since) < interval {
        tallies[kind]?.count += 1
        return nil
      }
      defer { tallies[kind] = Tally(since: now) }
      return (tallies[kind]?.count ?? 0) + 1
    }
  }
}
#endif
