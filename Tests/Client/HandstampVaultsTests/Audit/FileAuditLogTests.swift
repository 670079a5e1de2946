import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `An audit log in a file` {
  let home: NewFolder

  init() throws { home = try NewFolder() }

  @Test func `round-trips through a file for its owner only`() async throws {
    let log = home.audit()
    for number in 1...3 { await log.record(.sample(number)) }
    let trail = try await log.trail()
    #expect(trail.verdict == .intact(newer: 3))
    #expect(trail.lines.map { $0?.entry } == [.sample(1), .sample(2), .sample(3)])
    #expect(trail.lines.first??.writer == AuditWriter(program: "forum", process: Int64(getpid())))
    #expect(try home.mode(home.log) == 0o600)
    #expect(log.trouble == nil && log.head?.sequence == 3)
  }

  @Test func `stores its head with the next vault edit, so that an earlier cut is detected`() async throws {
    let log = home.audit()
    for number in 1...3 { await log.record(.sample(number)) }
    try await home.note(log)
    await log.record(.sample(4))
    #expect(try await log.trail().verdict == .intact(newer: 1))
    let bytes = try home.bytes(home.log)
    let lines = bytes.split(separator: 10).map { Array($0) + [10] }
    try home.write(lines.prefix(3).flatMap { $0 }, to: home.log)
    #expect(try await home.audit().trail().verdict == .intact(newer: 0))
    try home.write(lines.prefix(2).flatMap { $0 }, to: home.log)
    #expect(try await home.audit().trail().verdict == .cut(after: 2, head: 3))
    try home.remove(home.log)
    #expect(try await home.audit().trail().verdict == .cut(after: 0, head: 3))
  }

  @Test func `shows a cut while its place is still in the log, even if others keep writing`() async throws {
    let log = home.audit()
    for number in 1...5 { await log.record(.sample(number)) }
    try await home.note(log)
    let lines = try home.bytes(home.log).split(separator: 10).map { Array($0) + [10] }
    try home.write(lines.prefix(2).flatMap { $0 }, to: home.log)
    // Another program that has read the vault.
    let other = home.audit()
    guard case .value(let entry) = await home.vault().read(), let head = entry.auditHead else {
      Issue.record("no head")
      return
    }
    other.found(head)
    for number in 6...9 { await other.record(.sample(number)) }
    try await home.note(other)
    let trail = try await other.trail()
    #expect(trail.verdict == .broken(at: 3, .missing))
    #expect(trail.lines[2]?.entry.outcome == "cut" && trail.lines[2]?.sequence == 6)
    // The program that was running all along detects it without the vault.
    try home.write([], to: home.log)
    await log.record(.sample(10))
    #expect(try await log.trail().verdict == .broken(at: 1, .missing))
    #expect(log.head?.sequence == 7)
  }

  @Test func `continues behind an altered line, and does not hide it`() async throws {
    let log = home.audit()
    for number in 1...3 { await log.record(.sample(number)) }
    var bytes = try home.bytes(home.log)
    let place = try #require(bytes.firstRange(of: Array("outcome 3".utf8)))
    bytes[place.lowerBound] ^= 1
    try home.write(bytes, to: home.log)
    let other = home.audit()
    await other.record(.sample(4))
    let trail = try await other.trail()
    #expect(trail.verdict == .broken(at: 3, .altered))
    #expect(trail.lines.compactMap { $0?.entry.outcome }.suffix(2) == ["broken_line", "outcome 4"])
  }

  @Test(arguments: [1, 20, 400])
  func `sets a torn line aside, and records that`(count: Int) async throws {
    let log = home.audit()
    for number in 1...2 { await log.record(.sample(number)) }
    try await home.note(log)
    let bytes = try home.bytes(home.log)
    try home.write(bytes + [UInt8](repeating: 0x7b, count: count), to: home.log)
    #expect(try await log.trail().tornBytes == count)
    #expect(try await log.trail().verdict == .intact(newer: 0))
    await home.audit().record(.sample(3))
    let trail = try await log.trail()
    #expect(trail.verdict == .intact(newer: 2) && trail.tornBytes == 0)
    #expect(trail.lines[2]?.entry.outcome == "torn_line")
    #expect(try home.bytes(home.log + "-torn").count == count)
  }

  @Test func `with more than a line of garbage at its end is broken, and continues`() async throws {
    let log = home.audit()
    for number in 1...2 { await log.record(.sample(number)) }
    try home.write(home.bytes(home.log) + [UInt8](repeating: 0x7b, count: 9000), to: home.log)
    await log.record(.sample(3))
    let trail = try await log.trail()
    #expect(trail.verdict == .broken(at: 3, .unreadable))
    #expect(trail.lines.last??.entry == .sample(3))
  }

  @Test func `is bounded: the older half is dropped, and the chain holds`() async throws {
    let log = home.audit(limit: 32 << 10)
    var sizes: [Int] = []
    for number in 1...400 {
      await log.record(.sample(number))
      if number % 100 == 0 {
        try await home.note(log)
        #expect(try await log.trail().verdict == .intact(newer: 0))
      }
      sizes.append(try home.names(containing: ".audit").map { try home.bytes($0).count }.reduce(0, +))
    }
    #expect(sizes.allSatisfy { $0 <= 32 << 10 })
    let trail = try await log.trail()
    #expect(trail.lines.count > 40 && trail.lines.count < 300)
    #expect(trail.lines.last??.entry == .sample(400))
    // The kept part begins where the rotation says.
    for name in [home.log + "-older", home.log] {
      let bytes = try home.bytes(name)
      let lines = bytes.split(separator: 10).map { Array($0) + [10] }
      try home.write(lines.dropFirst().flatMap { $0 }, to: name)
      guard case .broken(_, .missing) = try await log.trail().verdict else {
        Issue.record("the first line of \(name) was removed unnoticed")
        continue
      }
      try home.write(bytes, to: name)
    }
    try home.remove(home.log + "-older")
    guard case .broken(_, .missing) = try await log.trail().verdict else {
      Issue.record("the older half was removed unnoticed")
      return
    }
  }

  @Test func `still shows a cut at the start of the newer half after a rotation`() async throws {
    let log = home.audit(limit: 32 << 10)
    var number = 0
    while !home.names().contains(home.log + "-older") {
      number += 1
      await log.record(.sample(number))
    }
    for _ in 1...4 { await log.record(.sample(0)) }
    let lines = try home.bytes(home.log).split(separator: 10).map { Array($0) + [10] }
    try home.write(lines.dropFirst(2).flatMap { $0 }, to: home.log)
    let start = try home.bytes(home.log + "-older")
    while try home.bytes(home.log + "-older") == start { await log.record(.sample(0)) }
    guard case .broken(_, .missing) = try await log.trail().verdict else {
      Issue.record("the cut was forgotten")
      return
    }
  }

  @Test func `is bound to its account, and needs its own key`() async throws {
    await home.audit().record(.sample(1))
    let ada = home.log
    let bob = FileAuditLog(home.vault("bob"), program: "forum")
    await bob.record(.sample(1))
    let other = try #require(home.names(ending: ".audit").first { $0 != ada })
    try home.write(home.bytes(ada), to: other)
    #expect(try await bob.trail().verdict == .broken(at: 1, .altered))
    try home.write([UInt8](home.bytes("vault.key").reversed()), to: "vault.key")
    await #expect(throws: VaultError.self) { try await bob.trail() }
  }

  @Test func `buffers entries in order until its key is available, and records losses`() async throws {
    await home.audit().record(.sample(0))
    let key = try home.bytes("vault.key")
    try home.remove("vault.key")
    let log = home.audit()
    for number in 1...300 { await log.record(.sample(number)) }
    guard case .wrongKey = log.trouble else {
      Issue.record("\(String(describing: log.trouble))")
      return
    }
    #expect(log.head == nil && !home.names().contains("vault.key"))
    try home.write(key, to: "vault.key")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: home.vaults + "/vault.key")
    await log.record(.sample(301))
    #expect(log.trouble == nil)
    let trail = try await log.trail()
    #expect(trail.verdict == .intact(newer: 258))
    #expect(trail.lines.compactMap { $0?.entry.outcome }.prefix(3) == ["outcome 0", "lost_45", "outcome 46"])
    #expect(trail.lines.last??.entry == .sample(301))
  }

  @Test func `contains none of the session's secrets`() async throws {
    let session = VaultSamples.session()
    _ = await home.vault().edit(.begin(session))
    await home.audit().record(
      AuditEntry(
        action: .signIn(.password), session: session.id, account: session.profile?.id, at: session.startedAt.wall,
        outcome: "ok"))
    let text = String(decoding: try home.bytes(home.log), as: UTF8.self)
    for secret in ["s1-refresh-0", "s1-revocation", "s1-token"] { #expect(!text.contains(secret)) }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A vault's record of the audit log's head` {
  let head = AuditHead(sequence: 7, code: .none)

  @Test(arguments: [("memory", 0), ("file", 1)])
  func `is written with an edit, and never moves back`(kind: (String, Int)) async throws {
    let home = try NewFolder()
    let vault: any Vault = kind.1 == 0 ? MemoryVault() : home.vault()
    let session = VaultSamples.session()
    func noted(_ edit: VaultEdit, _ sequence: UInt64) async -> UInt64? {
      let log = HeadOnly(head: AuditHead(sequence: sequence, code: .none))
      return switch await vault.edit(edit, noting: log) {
      case .done(let entry), .conflict(let entry): entry.auditHead?.sequence
      case .failed: nil
      }
    }
    #expect(await noted(.begin(session), 7) == 7)
    #expect(await noted(.touch(session.id, at: VaultSamples.moment(2)), 6) == 7)
    #expect(await noted(.touch(session.id, at: VaultSamples.moment(3)), 8) == 8)
    #expect(await noted(.touch(SessionID("stranger"), at: VaultSamples.moment(3)), 9) == 8)
    #expect(await noted(.delivered(SessionID("stranger")), 9) == 8)
    _ = await vault.edit(.touch(session.id, at: VaultSamples.moment(4)))
    #expect(await noted(.signOut(.signedOut, at: VaultSamples.moment(5)), 10) == 10)
    guard case .value(let entry) = await vault.read() else {
      Issue.record("nothing there")
      return
    }
    #expect(entry.auditHead?.sequence == 10 && entry.session == nil)
  }

  @Test func `is told to the log by an edit, a conflict and a read`() async throws {
    let vault = MemoryVault()
    let log = HeadOnly(head: head)
    #expect(await vault.read(noting: log) == .absent)
    #expect(log.takeFound() == nil)
    _ = await vault.edit(.begin(VaultSamples.session()), noting: log)
    #expect(log.takeFound() == head)
    _ = await vault.edit(.touch(SessionID("stranger"), at: VaultSamples.moment(2)), noting: log)
    #expect(log.takeFound() == head)
    _ = await vault.read(noting: log)
    #expect(log.takeFound() == head)
  }
}

/// A log that only has a head, and keeps the one that a vault told it last.
private struct HeadOnly: AuditLog {
  let head: AuditHead?
  private let told = Locked<AuditHead?>(nil)

  init(head: AuditHead?) { self.head = head }

  @concurrent func record(_ entry: AuditEntry) async {}
  func found(_ stored: AuditHead) { told.withLock { $0 = stored } }
  func takeFound() -> AuditHead? {
    told.withLock { told in
      defer { told = nil }
      return told
    }
  }
}

extension AuditEntry {
  static func sample(_ number: Int) -> AuditEntry {
    AuditEntry(
      action: .refresh, session: SessionID("s1"), account: AccountID("ada"),
      at: VaultSamples.moment(Int64(number)).wall, outcome: "outcome \(number)")
  }
}

extension NewFolder {
  /// Ada's log, opened as by another program.
  func audit(limit: Int = 1 << 20) -> FileAuditLog { FileAuditLog(vault(), program: "forum", limit: limit) }

  /// The file name of Ada's log.
  var log: String { names(ending: ".audit").first ?? "none" }

  func names(containing part: String) -> [String] { names().filter { $0.contains(part) } }

  /// Stores the log's head in the vault, with some edit.
  func note(_ log: FileAuditLog) async throws {
    guard log.head != nil else { return }
    let outcome = await vault().edit(.begin(VaultSamples.session()), noting: log)
    guard case .done = outcome else { throw VaultError.unavailable("\(outcome)") }
  }
}
