#if Server
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The log of ended sessions` {
  let folder: Folder
  var log: String { folder.server.endLogPath }

  init() throws { folder = try Folder() }

  func text() throws -> String { try String(contentsOfFile: log, encoding: .utf8) }

  func setText(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: log)) }

  /// The current database files.
  func copy() throws -> [String: Data] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("registry.sqlite") }
      .reduce(into: [:]) { $0[$1] = FileManager.default.contents(atPath: folder.path + "/" + $1) }
  }

  /// Restores the database files, and nothing else.
  func restore(_ files: [String: Data]) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasPrefix("registry.sqlite")
    {
      try FileManager.default.removeItem(atPath: folder.path + "/" + name)
    }
    for (name, content) in files {
      #expect(FileManager.default.createFile(atPath: folder.path + "/" + name, contents: content))
    }
  }

  /// Runs with the folder's store, then closes it.
  @discardableResult
  func withStore<Value>(_ body: (SQLiteRegistryStore) async throws -> Value) async throws -> Value {
    let store = try folder.server.open().store
    let value = try await body(store)
    try store.close()
    return value
  }

  /// Such as one that a crash has cut: without its address, a closed account would be erased.
  @Test(arguments: ["closed", "email", "state", "typed"])
  func `has no removal of an account that lacks a part`(name: String) throws {
    var record = ada
    record.closedAt = start
    let removal = Removal(account: record.id, at: start, content: .account(AccountState(record)))
    let text = PayloadCoding.text(removal)
    #expect(
      text == "account=ada&at=1800000000000&closed=1800000000000&email=ada%40example.org&state=closed"
        + "&typed=ada%40example.org")
    #expect(PayloadCoding.value(Removal.self, text) == removal)
    let rest = text.split(separator: "&").filter { !$0.hasPrefix("\(name)=") }.joined(separator: "&")
    #expect(rest != text && PayloadCoding.value(Removal.self, rest) == nil)
  }

  @Test func `has no registration that made room for another`() async throws {
    let registrations = (0..<RegisteredClient.most).map { number in
      RegistryChange.createItem(
        StoredItem(
          id: StoredItemID(.registration, "\(number)"), kind: .registration, subject: "registrations", createdAt: start,
          expiresAt: start.advanced(by: RegisteredClient.trial)))
    }
    try await withStore { store in
      try await store.write(registrations, events: [])
      let registry = Registry(store: store, mint: TokenMint(try ServerKeys.drawn().master))
      let now = start.advanced(by: .seconds(1))
      #expect(try await registry.register(name: nil, redirectURIs: [], scopes: [], now: now) != nil)
      let known = try await store.items(.registration, subject: "registrations")
      #expect(known.filter { $0.expiresAt > now }.count == RegisteredClient.most)
    }
    #expect(try !text().contains("removal"))
  }

  /// Creates four sessions; copies the files; then ends three sessions, each in another way.
  @discardableResult
  func endAfterCopy() async throws -> [String: Data] {
    try await withStore { store in
      let sessions = (1...4).map { RegistryChange.createSession(session($0)) }
      try await store.write([.createAccount(ada)] + sessions, events: [])
    }
    let files = try copy()
    try await withStore { store in
      let end = SessionEnd(at: start.advanced(by: .seconds(10)), reason: .signedOut)
      try await store.write([.endSession(session(1).id, end)], events: [])
      var second = session(2)
      second.end = SessionEnd(at: start.advanced(by: .seconds(20)), reason: .revoked)
      try await store.write([.replaceSession(second, expecting: 0)], events: [])
      // A session past its limits has ended in every copy.
      let late = SessionEnd(at: start.advanced(by: .seconds(500)), reason: .idle)
      try await store.write([.endSession(session(3).id, late)], events: [])
    }
    return files
  }

  @Test func `ends sessions again that an older database shows as live`() async throws {
    try restore(try await endAfterCopy())
    try await withStore { store in
      #expect(store.reapplied.sessions == 2)
      #expect(store.unreadableEnds == 0)
      let rows = [try await store.session(session(1).id), try await store.session(session(2).id)]
      #expect(rows.map { $0?.end?.reason } == [.signedOut, .revoked])
      #expect(rows[0]?.end?.at == start.advanced(by: .seconds(10)))
      #expect(try await store.session(session(3).id)?.end == nil)
      #expect(try await store.session(session(4).id)?.end == nil)
      let events = try await store.events(after: .zero, account: ada.id, limit: 10)
      #expect(events.map(\.event.kind) == [.sessionRevoked, .sessionRevoked])
      #expect(Set(events.map(\.event.session)) == [session(1).id, session(2).id])
    }
    #expect(try await withStore { $0.reapplied.sessions } == 0)
  }

  @Test func `is written before an end is acknowledged`() async throws {
    try await withStore { store in
      try await store.write([.createAccount(ada), .createSession(session(1))], events: [])
      let before = try text()
      try await store.write(
        [.endSession(session(1).id, SessionEnd(at: start, reason: .revoked))], events: [])
      #expect(try text() == before + "\(session(1).id) 1800000000000 1800000500000 revoked\n")
    }
    #expect(try FileManager.default.attributesOfItem(atPath: log)[.posixPermissions] as? Int == 0o600)
  }

  @Test func `that cannot be written blocks acknowledging an end, and gets it later`() async throws {
    let store = try folder.server.open().store
    let sessions = (1...2).map { RegistryChange.createSession(session($0)) }
    try await store.write([.createAccount(ada)] + sessions, events: [])
    try FileManager.default.moveItem(atPath: log, toPath: log + ".away")
    try FileManager.default.createDirectory(atPath: log, withIntermediateDirectories: false)
    let end = SessionEnd(at: start, reason: .revoked)
    await #expect(throws: RegistryStoreError.self) {
      try await store.write([.endSession(session(1).id, end)], events: [])
    }
    // Other writes still succeed.
    try await store.write([.replaceSession(session(2), expecting: 0)], events: [])
    try FileManager.default.removeItem(atPath: log)
    try FileManager.default.moveItem(atPath: log + ".away", toPath: log)
    try await store.write([.endSession(session(2).id, end)], events: [])
    #expect(try text().contains(session(1).id.rawValue))
    #expect(try text().contains(session(2).id.rawValue))
    try store.close()
  }

  @Test func `catches up at start`() async throws {
    let files = try await endAfterCopy()
    let whole = try text()
    // As after a crash between the two writes, to the database and to the log, or with a database older than the log.
    try FileManager.default.removeItem(atPath: log)
    try await withStore { #expect($0.reapplied.sessions == 0) }
    #expect(Set(try text().split(separator: "\n")) == Set(whole.split(separator: "\n")))
    try restore(files)
    try await withStore { #expect($0.reapplied.sessions == 2) }
  }

  @Test func `may be truncated, or damaged in the middle`() async throws {
    let files = try await endAfterCopy()
    var lines = try text().split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    try #require(lines.count == 4)
    lines[1] = "\(session(9).id) 12 x revoked"
    lines[3] = "AAAA 17"
    try setText(lines.joined(separator: "\n"))
    try restore(files)
    try await withStore { store in
      #expect(store.reapplied.sessions == 1)
      #expect(store.unreadableEnds == 1)
      // A truncated line does not swallow the next one.
      try await store.write(
        [.endSession(session(4).id, SessionEnd(at: start, reason: .replaced))], events: [])
    }
    #expect(try text().contains("AAAA 17\n\(session(4).id) "))
  }

  @Test func `of another server, or with other content, is refused`() async throws {
    try await withStore { _ in }
    for strange in ["handstamp-ends 1 another\n", "handstamp-ends 2 x\n", "hello\nworld\n"] {
      try setText(strange)
      #expect(refusal(folder.server) == .endLogForeign(path: log))
      #expect(try text() == strange)
    }
    // Created and not yet written when the power failed.
    try setText("")
    #expect(refusal(folder.server) == nil)
  }

  @Test func `may be emptied or truncated by a log rotator`() async throws {
    let files = try await endAfterCopy()
    let whole = try text().split(separator: "\n")
    try await withStore { store in
      try setText("")
      try await store.write(
        [.endSession(session(4).id, SessionEnd(at: start, reason: .replaced))], events: [])
    }
    #expect(try text().split(separator: "\n").first == whole.first)
    // Without its first line, and with a reason of a later version.
    try setText("\(session(1).id) 1800000010000 - token_reuse\n\(session(2).id) 1800000010000 - abducted\n")
    try restore(files)
    try await withStore { store in
      #expect(store.reapplied.sessions == 2)
      let previous = try #require(try await store.session(session(1).id))
      #expect(previous.end?.reason == .tokenReuseDetected)
      let row = try #require(try await store.session(session(2).id))
      #expect(row.end?.reason == .rejected)
    }
  }

  @Test func `keeps lines that it cannot parse`() async throws {
    try await endAfterCopy()
    try setText(try text() + String(repeating: "a line of another version\n", count: 3000))
    try await withStore { store in
      #expect(store.unreadableEnds == 3000)
      let now = start.advanced(by: .seconds(500))
      _ = try await store.prune(Retention(eventsBefore: start, endedBefore: start, now: now), limit: 10)
    }
    let lines = try text().split(separator: "\n")
    #expect(lines.count == 3001)
    #expect(lines.count { $0 == "a line of another version" } == 3000)
  }

  @Test func `is shared by two servers, and keeps no more than the sessions' lifetimes`() async throws {
    let (first, second) = try (folder.server.open().store, folder.server.open().store)
    try await first.write([.createAccount(ada)], events: [])
    let end = SessionEnd(at: start, reason: .signedOut)
    func endOne(_ row: SessionRow, by store: SQLiteRegistryStore) async throws {
      try await store.write([.createSession(row)], events: [])
      try await store.write([.endSession(row.id, end)], events: [])
    }
    func endMany(_ numbers: Range<UInt64>, by store: SQLiteRegistryStore) async throws {
      for number in numbers {
        try await store.write([.createSession(session(number)), .endSession(session(number).id, end)], events: [])
      }
    }
    func lines() throws -> [Substring] { try text().split(separator: "\n") }
    func prune(_ seconds: Int64) async throws {
      let now = start.advanced(by: .seconds(seconds))
      _ = try await first.prune(Retention(eventsBefore: start, endedBefore: start, now: now), limit: 10)
    }
    try await endMany(1..<1200, by: first)
    // None of them would have expired yet.
    try await prune(499)
    #expect(try lines().count == 1200)
    var unlimited = session(1200)
    (unlimited.absoluteExpiry, unlimited.idleLimit) = (nil, nil)
    try await endOne(unlimited, by: second)
    try await endMany(1201..<2800, by: second)
    try await prune(500)
    #expect(try lines().dropFirst().map { $0.prefix(22) } == [Substring(unlimited.id.rawValue)])
    // The other server continues in the new file.
    try await endOne(session(2800), by: second)
    #expect(try lines().count == 3)
    try second.close()
    try first.close()
  }

  @Test func `has each end once when many are appended at the same time`() async throws {
    let log = EndLog(path: log, instance: InstanceID("instance"))
    _ = try log.read()
    let all = (0..<200 as Range<UInt64>).map { number in
      LoggedEnd(session: session(number).session, end: SessionEnd(at: start, reason: .signedOut), expiry: nil)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for end in all { group.addTask { try log.append([end]) } }
      try await group.waitForAll()
    }
    let found = try log.read()
    #expect(found.ends.count == 200 && Set(found.ends) == Set(all) && found.unreadable.isEmpty)
  }
}
#endif
