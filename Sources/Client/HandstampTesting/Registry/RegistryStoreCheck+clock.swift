import HandstampCore
import HandstampRegistry

extension RegistryStoreCheck {
  private typealias Samples = RegistrySamples

  func theClockIsNoted() async throws {
    let (store, other) = try await pair()
    let none = try await store.clockNote()
    try expect(none == nil, "a new store has no note of the clock", found: none as Any)
    for (number, since) in [nil, Samples.start, nil].enumerated() {
      let note = ClockNote(
        at: Samples.start.advanced(by: .seconds(number)), doubtedSince: since, revision: Int64(number))
      try await store.write([.noteClock(note)], events: [])
      let found = try await other.clockNote()
      try expect(found == note, "the last note of the clock is stored", found: found as Any)
      // A writer with another revision than the next one writes neither the note nor anything else.
      for revision in [0, note.revision, note.revision + 2] {
        let stale = ClockNote(at: note.at, revision: revision)
        try await expect(
          .conflict, "a stale note of the clock is refused", from: other,
          writing: [.createAccount(Samples.account(Samples.ada)), .noteClock(stale)])
      }
    }
    let account = try await store.account(Samples.ada)
    try expect(account == nil, "a write with a stale note of the clock has no effect", found: account as Any)
  }

  func timesAreMoved() async throws {
    func at(_ seconds: Int64) -> UnixTime { Samples.start.advanced(by: .seconds(seconds)) }
    let (store, other) = try await pair(with: Samples.ada)
    // Created, rotated and seen at these seconds. The span is from 100 to 200, and everything in it moves by 1000.
    let cases: [(made: Int64, rotated: Int64, seen: Int64, ended: Bool)] = [
      (10, 20, 99, false), (10, 20, 100, false), (10, 150, 200, false), (100, 100, 201, false), (150, 150, 160, true),
    ]
    for (number, times) in cases.enumerated() {
      let row = Samples.timed(
        number, made: at(times.made), rotated: at(times.rotated), seen: at(times.seen),
        ended: times.ended ? at(times.seen) : nil)
      try await store.write([.createSession(row)], events: [])
    }
    let tokens = [Samples.oneTimeToken(1, at: at(99)), Samples.oneTimeToken(2, at: at(100))]
    try await store.write(tokens.map { .createOneTimeToken($0) }, events: [])
    try await store.write([.moveTimes(TimeShift(span: at(100)...at(200), distance: .seconds(1000)))], events: [])
    for (number, times) in cases.enumerated() {
      func moved(_ seconds: Int64) -> Int64 { !times.ended && (100...200).contains(seconds) ? seconds + 1000 : seconds }
      var expected = Samples.timed(
        number, made: at(moved(times.made)), rotated: at(moved(times.rotated)), seen: at(moved(times.seen)),
        ended: times.ended ? at(times.seen) : nil)
      let isMoved = [times.made, times.rotated, times.seen].contains { moved($0) != $0 }
      expected.revision = isMoved ? 1 : 0
      let row = try await other.session(expected.id)
      try expect(row == expected, "only times in the span are moved: \(number)", found: row as Any)
      let due = try await other.expired(at: expected.expiry ?? at(0), limit: 10).map(\.id).contains(expected.id)
      let early = try await other.expired(
        at: (expected.expiry ?? at(0)).advanced(by: .milliseconds(-1)), limit: 10
      ).map(\.id).contains(expected.id)
      try expect(due != times.ended && !early, "the expiry moves with them: \(number)", found: (due, early))
    }
    let made = try await (other.oneTimeToken(tokens[0].id)?.createdAt, other.oneTimeToken(tokens[1].id)?.createdAt)
    try expect(made.0 == at(99) && made.1 == at(1100), "one-time tokens in the span are moved", found: made)
    let life = try await other.oneTimeToken(tokens[1].id).map { $0.expiresAt.since($0.createdAt) }
    try expect(
      life == tokens[1].expiresAt.since(tokens[1].createdAt), "moving keeps the lifetime", found: life as Any)
  }
}
