#if Programs
import HandstampSupport
import Testing

@testable import HandstampVerifier

@Suite(.timeLimit(.minutes(10))) struct `The list of revoked sessions` {
  /// A list whose mutating calls can be expectations.
  private final class List {
    private var list: RevocationList
    init(capacity: Int) { list = RevocationList(capacity: capacity) }

    var count: Int { list.count }
    func contains(_ session: String) -> Bool { list.contains(session) }
    func contains(_ key: RevocationList.Key) -> Bool { list.contains(key) }
    func insert(_ key: RevocationList.Key, until end: Int64) -> Bool { list.insert(key, until: end) }
    func removeExpired(at now: Int64) { list.removeExpired(at: now) }
  }

  /// A generator of the same numbers in every run.
  private struct Numbers: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ state >> 29
    }
  }

  /// Against a dictionary, over many splits and joins of pages.
  @Test(arguments: 0..<8 as Range<UInt64>) func `has what was added until its time has passed`(seed: UInt64) {
    var numbers = Numbers(state: seed)
    let list = List(capacity: 100_000)
    var model: [RevocationList.Key: Int64] = [:]
    var now: Int64 = 1000
    for round in 0..<40 {
      for _ in 0..<(seed % 2 == 0 ? 700 : 40) {
        // Few values, so that many are repeated; neighbours, which share pages.
        let key = RevocationList.Key(high: numbers.next() % 4000, low: seed % 3 == 0 ? 7 : numbers.next() % 3)
        let end = now + Int64(numbers.next() % 500)
        #expect(list.insert(key, until: end))
        model[key] = max(model[key] ?? 0, end)
      }
      #expect(list.count >= model.count(where: { $0.value >= now }))
      for (key, _) in model { #expect(list.contains(key)) }
      for _ in 0..<50 {
        let key = RevocationList.Key(high: numbers.next() % 5000, low: numbers.next() % 5)
        #expect(list.contains(key) == (model[key] != nil))
      }
      now += round % 3 == 0 ? 400 : 20
      // Often enough for all pages.
      for _ in 0..<40 { list.removeExpired(at: now) }
      model = model.filter { $0.value >= now }
      #expect(list.count == model.count)
    }
  }

  @Test func `keeps a session to the very second`() {
    let list = List(capacity: 10)
    #expect(list.insert(RevocationList.Key("s"), until: 100))
    list.removeExpired(at: 100)
    #expect(list.contains("s"))
    list.removeExpired(at: 101)
    #expect(!list.contains("s"))
    #expect(list.count == 0)
  }

  @Test func `only extends the time of a session`() {
    let list = List(capacity: 10)
    #expect(list.insert(RevocationList.Key("s"), until: 100))
    #expect(list.insert(RevocationList.Key("s"), until: 50))
    list.removeExpired(at: 99)
    #expect(list.contains("s"))
    #expect(list.insert(RevocationList.Key("s"), until: 200))
    list.removeExpired(at: 150)
    #expect(list.contains("s"))
    #expect(list.count == 1)
  }

  @Test func `tells IDs apart that differ in one character, whatever they are made of`() {
    let list = List(capacity: 10)
    let ids = [
      "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ", "BAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAB",
      "AAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAA=", "", "ä",
    ]
    for (count, id) in ids.enumerated() {
      #expect(!list.contains(id))
      #expect(list.insert(RevocationList.Key(id), until: 100))
      #expect(list.contains(id))
      #expect(list.count == count + 1)
    }
  }

  @Test func `has room for its capacity, and says when that is used up`() {
    let list = List(capacity: 1000)
    for number in 0..<1000 { #expect(list.insert(RevocationList.Key("\(number)"), until: 100)) }
    #expect(!list.insert(RevocationList.Key("more"), until: 100))
    #expect(!list.contains("more"))
    // A session that it has takes no room.
    #expect(list.insert(RevocationList.Key("7"), until: 200))
    for _ in 0..<10 { list.removeExpired(at: 101) }
    #expect(list.count == 1)
    #expect(list.insert(RevocationList.Key("more"), until: 200))
  }

  @Test(arguments: [Int64.min, -1, 0, 4_294_967_295, 4_294_967_296, .max])
  func `takes any time`(end: Int64) {
    let list = List(capacity: 10)
    #expect(list.insert(RevocationList.Key("s"), until: end))
    list.removeExpired(at: 1_800_000_000)
    #expect(list.contains("s") == (end >= 1_800_000_000))
  }

  @Test func `has the least and the greatest key`() {
    let list = List(capacity: 10_000)
    let keys = [RevocationList.Key(high: 0, low: 0), RevocationList.Key(high: .max, low: .max)]
    for number in 0..<2000 as Range<UInt64> {
      _ = list.insert(RevocationList.Key(high: number << 50, low: 1), until: 9)
    }
    for key in keys {
      #expect(!list.contains(key))
      #expect(list.insert(key, until: 9))
      #expect(list.contains(key))
    }
  }
}
#endif
