#if Exploration
import HandstampCore
import HandstampExploration
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session machine under random events` {
  /// Whatever the order of events, with unexpected answers among them: every caller is answered once, every lock is
  /// released once, one refresh per session is in flight, and no request is sent while signed out.
  @Test(arguments: 0..<1000 as Range<UInt64>)
  func `keeps its contract with its driver`(seed: UInt64) {
    var storm = RandomEvents(seed: seed)
    for _ in 0..<500 { storm.step() }
    storm.calm()
    #expect(storm.faults.isEmpty, "seed \(seed): \(storm.faults.prefix(3))")
  }
}
#endif
