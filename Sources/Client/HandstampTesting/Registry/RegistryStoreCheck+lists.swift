import HandstampCore
import HandstampRegistry

extension RegistryStoreCheck {
  private typealias Samples = RegistrySamples

  func sessionsAreListed() async throws {
    let (store, other) = try await pair(with: Samples.ada, Samples.bob)
    for number in [UInt8(3), 1, 2] {
      let at = Samples.start.advanced(by: .seconds(Int64(number)))
      try await store.write([.createSession(Samples.session(number, at: at))], events: [])
    }
    try await store.write([.createSession(Samples.session(9, of: Samples.bob))], events: [])
    var ended = Samples.session(2)
    ended.end = SessionEnd(at: Samples.start, reason: .revoked)
    try await other.write([.replaceSession(ended, expecting: 0)], events: [])
    let rows = try await other.sessions(of: Samples.ada).map(\.session)
    try expect(
      rows == [Samples.bytes(1), Samples.bytes(3)], "lists the live sessions of one account, oldest first",
      found: rows)
    // Sessions 1 and 3 of Ada, and 9 of Bob: begun and refreshed at the seconds 1, 3 and 0.
    for (seconds, count) in [(-1, 0), (0, 1), (1, 2), (3, 3), (nil, 3)] as [(Int64?, Int)] {
      let live = try await other.liveSessions(upTo: seconds.map { Samples.start.advanced(by: .seconds($0)) })
      try expect(live == (count, count), "counts live sessions by their times", found: live)
    }
    var refreshed = Samples.session(1, at: Samples.start.advanced(by: .seconds(1)))
    refreshed.rotatedAt = Samples.start.advanced(by: .seconds(9))
    try await store.write([.replaceSession(refreshed, expecting: 0)], events: [])
    let live = try await other.liveSessions(upTo: Samples.start.advanced(by: .seconds(8)))
    try expect(live == (2, 3), "counts refreshed sessions by their last refresh", found: live)
    var sooner = Samples.session(4, at: Samples.start.advanced(by: .seconds(-1)))
    sooner.end = SessionEnd(at: Samples.start.advanced(by: .seconds(9)), reason: .idle)
    try await store.write([.createSession(sooner)], events: [])
    let over = try await other.endedSessions(of: Samples.ada).map(\.session)
    try expect(
      over == [Samples.bytes(4), Samples.bytes(2)], "lists the ended sessions of one account, oldest first",
      found: over)
  }

  func overdueSessionsAreFound() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    let start = Samples.start
    func add(_ number: UInt8, absolute: Int64?, idle: Int64?, ended: Bool = false) async throws {
      var row = Samples.session(number)
      row.absoluteExpiry = absolute.map { start.advanced(by: .seconds($0)) }
      row.idleLimit = idle.map { .seconds($0) }
      if ended { row.end = SessionEnd(at: start, reason: .signedOut) }
      try await store.write([.createSession(row)], events: [])
    }
    try await add(1, absolute: 50, idle: nil)
    try await add(2, absolute: 90, idle: 40)
    try await add(3, absolute: 30, idle: 80)
    try await add(4, absolute: nil, idle: nil)
    try await add(5, absolute: 10, idle: 10, ended: true)
    for (seconds, numbers) in [(29, []), (30, [3]), (50, [3, 2, 1]), (1000, [3, 2, 1])] as [(Int64, [UInt8])] {
      let rows = try await other.expired(at: start.advanced(by: .seconds(seconds)), limit: 10).map(\.session)
      try expect(
        rows == numbers.map(Samples.bytes), "finds sessions that have expired, most overdue first", found: rows)
    }
    let two = try await other.expired(at: start.advanced(by: .seconds(50)), limit: 2).map(\.session)
    try expect(two == [Samples.bytes(3), Samples.bytes(2)], "returns at most `limit` sessions", found: two)
    var used = Samples.session(2)
    used.idleLimit = .seconds(40)
    used.lastSeenAt = start.advanced(by: .seconds(25))
    try await store.write([.replaceSession(used, expecting: 0)], events: [])
    let rows = try await other.expired(at: start.advanced(by: .seconds(64)), limit: 10).map(\.session)
    try expect(rows == [Samples.bytes(3), Samples.bytes(1)], "use postpones the expiry of a session", found: rows)
  }

  func oneOfManyWritersWins() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    try await store.write([.createSession(Samples.session(1))], events: [])
    let wins = try await count(of: 32) { number throws(RegistryStoreError) in
      var row = Samples.session(1)
      row.counter = UInt64(number)
      try await (number % 2 == 0 ? store : other).write(
        [.replaceSession(row, expecting: 0)], events: [Samples.event(number)])
    }
    try expect(wins == 1, "of many writers that expect the same revision, one wins", found: wins)
    let events = try await store.events(after: .zero, account: nil, limit: 100)
    let row = try await store.session(Samples.session(1).id)
    try expect(
      events.count == 1 && events.first?.event == row.map { Samples.event(Int($0.counter)) },
      "only the winner's event is stored", found: (events, row as Any))
    let created = try await count(of: 32) { number throws(RegistryStoreError) in
      let row = Samples.session(UInt8(100 + number), device: "phone")
      try await (number % 2 == 0 ? store : other).write([.createSession(row)], events: [])
    }
    try expect(created == 1, "of many sign-ins on one device, one wins", found: created)
  }

  func decisionsAreAboutWhatIsStored() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    let session = Samples.session(1).session
    let unknown = try await store.change(session) { row, _ in Decision(row == nil) }
    let before = try await store.events(after: .zero, account: nil, limit: 10)
    try expect(
      unknown && before.isEmpty, "an unknown session is decided on as nil", found: (unknown, before))
    let event = Samples.event(0)
    try await store.write([.createSession(Samples.session(1))], events: [])
    let seen = try await other.change(session) { row, _ in Decision(row, events: [event]) }
    let stored = try await other.events(after: .zero, account: nil, limit: 10)
    try expect(
      seen == Samples.session(1) && stored.map(\.event) == [event],
      "a decision sees the stored session, and its events are stored", found: (seen, stored))
    let halves: [RegistryChange] = [
      .createSession(Samples.session(2, device: "tablet")),
      .endSession(Samples.session(3).id, SessionEnd(at: Samples.start, reason: .revoked)),
    ]
    let outcome: String
    do throws(RegistryStoreError) {
      _ = try await store.change(session) { _, _ in Decision(0, halves) }
      outcome = "done"
    } catch {
      outcome = "\(error)"
    }
    try expect(outcome == "notFound", "a decision is carried out as a whole or not at all", found: outcome)
    let none = try await other.session(Samples.session(2).id)
    try expect(none == nil, "a decision is carried out as a whole or not at all", found: none as Any)
    let rounds = 20
    try await withThrowingTaskGroup { group in
      for number in 0..<rounds {
        group.addTask {
          while true {
            do throws(RegistryStoreError) {
              _ = try await (number % 2 == 0 ? store : other).change(session) { row, _ in
                guard var next = row else { return Decision(0) }
                next.counter += 1
                return Decision(0, [.replaceSession(next, expecting: next.revision)])
              }
              return
            } catch { guard error == .conflict else { throw error } }
          }
        }
      }
      try await group.waitForAll()
    }
    let last = try await store.session(session.id)
    try expect(
      last?.counter == UInt64(rounds), "no decision is made on a session that another one changes", found: last as Any)
  }

  func concurrentWritesLoseNothing() async throws {
    let (store, other) = try await pair(with: Samples.ada)
    try await store.write([.createSession(Samples.session(1))], events: [])
    let (writers, rounds) = (8, 10)
    let done = try await withThrowingTaskGroup(of: [RegistryEvent].self) { group in
      for writer in 0..<writers {
        group.addTask {
          var events: [RegistryEvent] = []
          while events.count < rounds {
            guard var row = try await store.session(Samples.session(1).id) else { return [] }
            row.counter += 1
            let event = Samples.event(writer * rounds + events.count)
            do throws(RegistryStoreError) {
              try await (writer % 2 == 0 ? store : other).write(
                [.replaceSession(row, expecting: row.revision)], events: [event])
              events.append(event)
            } catch {
              guard error == .conflict else { throw error }
            }
          }
          return events
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    let row = try await other.session(Samples.session(1).id)
    try expect(
      row?.counter == UInt64(writers * rounds) && row?.revision == Int64(writers * rounds),
      "no confirmed write is lost", found: row as Any)
    let events = try await other.events(after: .zero, account: nil, limit: 1000)
    try expect(
      events.map(\.event).sorted { $0.at < $1.at } == done.sorted { $0.at < $1.at },
      "every confirmed event is stored exactly once", found: events)
    try expect(
      zip(events, events.dropFirst()).allSatisfy { $0.id < $1.id }, "events are read in the order of their IDs",
      found: events)
  }

  /// Returns the number of `count` tasks that succeed; the others must fail with `exists` or `changed`.
  private func count(
    of count: Int, _ body: @escaping @Sendable (Int) async throws(RegistryStoreError) -> Void
  ) async throws -> Int {
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<count {
        group.addTask {
          do throws(RegistryStoreError) {
            try await body(number)
            return 1
          } catch {
            switch error {
            case .alreadyExists, .conflict: return 0
            case .notFound, .unavailable: throw error
            }
          }
        }
      }
      return try await group.reduce(0, +)
    }
  }
}
