#if PostgreSQL
import Foundation
import HandstampCore
@testable import HandstampPostgres
import HandstampRegistry
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Writers in each other's way` {
  private let database: TestDatabase
  private let folder: Folder

  init() throws {
    database = try PostgresCluster.shared.get().newDatabase()
    folder = try Folder()
  }

  private func opened() async throws -> PostgresRegistryStore { try await database.node(folder.path).open().store }

  /// Returns the errors of many writes at the same time.
  private func errors(
    _ count: UInt64, _ body: @escaping @Sendable (UInt64) async throws(RegistryStoreError) -> Void
  ) async -> [RegistryStoreError] {
    await withTaskGroup(of: RegistryStoreError?.self) { group in
      for number in 0..<count {
        group.addTask {
          do throws(RegistryStoreError) {
            try await body(number)
            return nil
          } catch { return error }
        }
      }
      return await group.reduce(into: []) { if let error = $1 { $0.append(error) } }
    }
  }

  @Test func `are told what has changed, never that the database is not there`() async throws {
    let store = try await opened()
    let old = Samples.session(0)
    try await store.write([.createAccount(Samples.account), .createSession(old)], events: [])
    // Sign-ins on one device: each ends the previous session, and begins its own.
    let found = await errors(24) { number throws(RegistryStoreError) in
      let row = SessionRow(
        session: Samples.session(number + 1).session, account: Samples.ada, device: old.device, kind: .keyed,
        createdAt: Samples.start)
      try await store.write(
        [.endSession(old.id, SessionEnd(at: Samples.start, reason: .replaced)), .createSession(row)],
        events: [Samples.established(row)])
    }
    #expect(found.count == 23)
    #expect(found.allSatisfy { $0 == .conflict || $0 == .alreadyExists }, "\(found)")
    #expect(try await store.sessions(of: Samples.ada).count == 1)
    store.release()
  }

  @Test func `refresh other sessions while one is locked`() async throws {
    let store = try await opened()
    let rows = (0..<40 as Range<UInt64>).map { Samples.session($0) }
    try await store.write([.createAccount(Samples.account)] + rows.map { .createSession($0) }, events: [])
    let locked = rows[7].session.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let blocker = try Blocker(database, "SELECT 1 FROM handstamp.session WHERE id = '\\x\(locked)' FOR UPDATE")
    let found = await errors(40) { number throws(RegistryStoreError) in
      try await store.change(rows[Int(number)].session) { row, _ in
        guard var row else { return Decision(()) }
        row.counter = 1
        return Decision((), [.replaceSession(row, expecting: row.revision)])
      }
    }
    #expect(found.count == 1, "\(found)")
    blocker.end()
    store.release()
  }

  @Test func `write nothing on a row that was replaced, or in a store that is closed`() async throws {
    let store = try await opened()
    let row = Samples.session(0)
    try await store.write([.createAccount(Samples.account), .createSession(row)], events: [])
    let replace: @Sendable (SessionRow?, UnixTime?) -> Decision<Void> = { row, _ in
      Decision((), row.map { [.replaceSession($0, expecting: $0.revision)] } ?? [])
    }
    await #expect(throws: RegistryStoreError.conflict) {
      try await store.change(row.session) { [database] found, time in
        #expect(throws: Never.self) { try database.sql("UPDATE handstamp.session SET revision = revision + 1") }
        return replace(found, time)
      }
    }
    await #expect(throws: RegistryStoreError.self) {
      try await store.change(row.session) { found, time in
        DispatchQueue.global().async { store.release() }
        while store.pool.submit(for: .maintenance, within: .seconds(1), { _, _ in }) { sched_yield() }
        return replace(found, time)
      }
    }
    let other = try await opened()
    #expect(try await other.session(row.id)?.revision == 1)
    other.release()
  }

  @Test func `void a token that is replaced at the same time`() async throws {
    let store = try await opened()
    let token = OneTimeTokenRecord(
      id: OneTimeTokenID(of: Secret("mailed"), purpose: .ownerProof), purpose: .ownerProof, subject: "ada",
      createdAt: Samples.start, expiresAt: Samples.start.advanced(by: .seconds(9)))
    for _ in 0..<20 {
      try await store.write([.createOneTimeToken(token)], events: [])
      let found = await errors(6) { number throws(RegistryStoreError) in
        let changes: [RegistryChange] =
          number == 3
          ? [.voidOneTimeTokens(.ownerProof, subject: "ada")]
          : [.redeemOneTimeToken(token.id), .createOneTimeToken(token)]
        try await store.write(changes, events: [])
      }
      // Those after it find none. None of them is told so because of another one like it.
      #expect(found.allSatisfy { $0 == .notFound })
      #expect(try await store.oneTimeToken(token.id) == nil)
    }
    store.release()
  }

  @Test func `store nothing without its event`() async throws {
    let store = try await opened()
    try database.sql("DELETE FROM handstamp.counter WHERE name = 'event'")
    do throws(RegistryStoreError) {
      try await store.write(
        [.createAccount(Samples.account)], events: [Samples.established(Samples.session(1))])
      Issue.record("an event without a number")
    } catch {
      #expect("\(error)".hasPrefix("unavailable"), "\(error)")
    }
    #expect(try await store.account(Samples.ada) == nil)
    store.release()
  }

  @Test func `wait for a recovery that fails at first, and goes on`() async throws {
    let store = try await opened()
    let row = Samples.session(1)
    let end = SessionEnd(at: Samples.start, reason: .signedOut)
    try await store.write([.createAccount(Samples.account), .createSession(row)], events: [])
    try await store.write(
      [.endSession(row.id, end), .noteClock(ClockNote(at: Samples.start))], events: [])
    try database.sql(
      """
      UPDATE handstamp.session SET ended_at = NULL; DELETE FROM handstamp.clock;
      UPDATE handstamp.instance SET state = 'copying:x'
      """)
    await #expect(throws: RegistryStoreError.self) { try await store.clockNote() }
    await #expect(throws: RegistryStoreError.self) { try await store.session(row.id) }
    try database.sql("UPDATE handstamp.instance SET state = 'serving'")
    let found = await eventually { try? await store.session(row.id) }
    #expect(found?.end == end)
    store.release()
  }
}

/// A session of `psql` with an open transaction.
private final class Blocker {
  private let process = Process()
  private let input = Pipe()
  /// Kept open: what writes to a closed pipe is killed.
  private let output = Pipe()

  private struct NoLock: Error {}

  init(_ database: TestDatabase, _ statement: String) throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["psql", "-h", database.cluster.folder, "-U", "postgres", "-d", database.name, "-XqAt"]
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data("BEGIN;\n\(statement);\n".utf8))
    // Its answer: the lock is held.
    guard try output.fileHandleForReading.read(upToCount: 1) == Data("1".utf8) else { throw NoLock() }
  }

  func end() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
#endif
