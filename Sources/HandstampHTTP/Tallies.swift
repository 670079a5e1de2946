#if Server
import HandstampCore
import HandstampSupport
import ServiceLifecycle

/// Sums up what may happen often, so that a flood of it fills no log: the first of a kind counts at once, the others of an interval
/// with the first one after it, or by ``rest(at:isEnd:)``.
final class Tallies<Kind: Hashable & Sendable>: Sendable {
  private struct Tally {
    var since: UnixTime
    var count = 0
  }

  /// More kinds at once are not summed up.
  private let most = 4096
  private let interval: Duration
  private let tallies = Locked<[Kind: Tally]>([:])

  init(interval: Duration) { self.interval = interval }

  /// Returns how many an entry stands for; `nil` if there is to be none now.
  func count(_ kind: Kind, at now: UnixTime) -> Int? {
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
  func rest(at now: UnixTime, isEnd: Bool = false) -> [(kind: Kind, count: Int)] {
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

/// Tells the rest of the refusals that were summed up, and all when the server stops: after its last request.
struct RefusalTeller: NamedService {
  let server: SessionServer

  func run() async throws {
    await cancelWhenGracefulShutdown {
      repeat { await tell() } while (try? await Task.sleep(for: .seconds(1))) != nil
    }
    await tell(isEnd: true)
  }

  func tell(isEnd: Bool = false) async {
    let (server, now) = (server.current, server.now())
    for (refused, count) in server.refusedSignIns.rest(at: now, isEnd: isEnd) {
      await server.service.record(refused, count, from: refused.network, server.configuration.logger)
    }
    for (refused, count) in server.refusedRequests.rest(at: now, isEnd: isEnd) {
      refused.log(count, from: refused.network, to: server.configuration.logger)
    }
  }
}
#endif
