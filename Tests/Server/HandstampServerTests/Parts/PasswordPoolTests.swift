#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A password pool` {
  let metrics = ServerMetrics()

  func pool(width: Int = 2, capacity: Int = 64) -> PasswordPool {
    PasswordPool(parameters: .forTests, width: width, capacity: capacity, metrics: metrics)
  }

  @Test func `recognizes a password, and only that one`() async throws {
    let pool = pool()
    let stored = try await pool.hash(Secret("correct horse"))
    #expect(stored.withExposed { $0.hasPrefix("$argon2id$v=19$m=8,t=1,p=1$") })
    #expect(try await pool.verify(Secret("correct horse"), against: stored))
    #expect(try await pool.verify(Secret("correct horsf"), against: stored) == false)
  }

  @Test func `compares passwords exactly, to the last byte`() async throws {
    let pool = pool()
    let long = String(repeating: "é", count: 1023)
    for (one, other) in [
      (long + "a", long + "b"), (" space", "space"), ("a\u{0}b", "a\u{0}c"), ("e\u{301}", "e"), ("", " "),
    ] {
      let stored = try await pool.hash(Secret(one))
      #expect(try await pool.verify(Secret(one), against: stored))
      #expect(try await pool.verify(Secret(other), against: stored) == false)
    }
  }

  @Test func `uses a fresh salt for every hash`() async throws {
    let pool = pool()
    #expect(try await pool.hash(Secret("same")) != pool.hash(Secret("same")))
  }

  @Test func `does the same work for an unknown account`() async throws {
    let pool = pool()
    #expect(try await pool.verify(Secret("whatever"), against: nil) == false)
    #expect(metrics.snapshot.passwordHashes == 1)
  }

  #if os(Linux)
  @Test func `works on threads of its own, with a lower priority than requests`() async throws {
    let pool = pool(width: 2)
    @Sendable func niceness() -> Int32 { getpriority(numericCast(PRIO_PROCESS.rawValue), 0) }
    let usual = niceness()
    let found = try await withThrowingTaskGroup(of: Int32.self) { group in
      for _ in 0..<8 { group.addTask { try await pool.perform { niceness() } } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(found.allSatisfy { $0 > usual })
    // No thread that answers requests was slowed down.
    for _ in 0..<64 { #expect(await Task.detached { niceness() }.value == usual) }
  }
  #endif

  @Test func `admits only as many as it has places, and frees an unused place`() async throws {
    let pool = pool(width: 1, capacity: 1)
    var places: [PasswordPool.Place] = []
    places.append(try pool.admit())
    places.append(try pool.admit())
    #expect(throws: PasswordHashError.self) { try pool.admit() }
    await #expect(throws: PasswordHashError.self) { try await pool.hash(Secret("password")) }
    // An admitted request is served, however full the queue is.
    #expect(try await places[0].verify(Secret("password"), against: nil) == false)
    places = []
    _ = try await pool.hash(Secret("password"))
  }

  @Test func `says why a hash failed`() async throws {
    let broken = Secret("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$")
    let error = await #expect(throws: PasswordHashError.self) {
      try await pool().verify(Secret("password"), against: broken)
    }
    #expect(error.map { "\($0)" } == "password hash: invalid salt")
    let small = PasswordPool(parameters: Argon2Parameters(memory: 1, passes: 1, lanes: 1))
    let failure = await #expect(throws: PasswordHashError.self) { try await small.hash(Secret("password")) }
    #expect(failure.map { "\($0)".hasPrefix("Argon2: ") } == true, "\(failure as Any)")
  }

  @Test func `prefers known devices, and keeps no other out`() async throws {
    let pool = pool(width: 1)
    let (begins, order) = (DispatchSemaphore(value: 0), Locked(""))
    try await withThrowingTaskGroup(of: Void.self) { group in
      // On the pool's own thread.
      group.addTask { try await pool.perform { begins.wait() } }
      #expect(await eventually { pool.isBusy })
      for kind in ["s", "s", "p", "p", "p", "p", "p", "p", "p", "p"] {
        let before = pool.queued
        group.addTask { try await pool.perform(isPreferred: kind == "p") { order.withLock { $0 += kind } } }
        #expect(await eventually { pool.queued == before + 1 })
      }
      begins.signal()
      try await group.waitForAll()
    }
    #expect(order.withLock { $0 } == "pppspppspp")
  }

  @Test func `rejects requests beyond its queue, and serves the rest`() async throws {
    let pool = pool(width: 1, capacity: 3)
    // The only thread hashes nothing until the queue was full.
    let begins = DispatchSemaphore(value: 0)
    let held = Task { try await pool.perform { begins.wait() } }
    #expect(await eventually { pool.isBusy })
    let outcomes = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<40 {
        group.addTask {
          do {
            _ = try await pool.hash(Secret("password"))
            return true
          } catch {
            return false
          }
        }
      }
      var outcomes: [Bool] = []
      for await outcome in group {
        if outcomes.isEmpty { begins.signal() }
        outcomes.append(outcome)
      }
      return outcomes
    }
    try await held.value
    #expect(outcomes.contains(true))
    #expect(outcomes.contains(false))
    #expect(metrics.snapshot.passwordHashes - 1 == outcomes.count { $0 })
    // Afterwards there is capacity again.
    _ = try await pool.hash(Secret("password"))
  }
}
#endif
