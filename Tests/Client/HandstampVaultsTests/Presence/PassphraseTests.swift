import Foundation
import HandstampKeys
import HandstampSupport
import HandstampTesting
import Testing

@testable import Handstamp

@Suite(.enabled(if: PassphraseSupport.isHere), .timeLimit(.minutes(10))) struct `A passphrase` {
  let home: NewFolder
  let clock = ManualClock()
  let right = Secret("correct horse battery staple")
  let wrong = Secret("incorrect horse")

  init() throws { home = try NewFolder() }

  private func passphrase(
    _ ask: @escaping @Sendable (Passphrase.Question) async throws -> Secret? = { _ in nil }
  ) -> Passphrase {
    Passphrase(folder: home.vaults, cost: PassphraseCost(rounds: 10), clock: clock, ask: ask)
  }

  private func vault(_ passphrase: Passphrase) -> SealedFileVault { home.vault(key: .passphrase(passphrase)) }

  /// Sets the passphrase, with a session in the vault, as another process left it.
  private func sealedSession() async throws {
    let passphrase = passphrase()
    try await passphrase.set(right)
    guard case .done = await vault(passphrase).edit(.begin(VaultSamples.session())) else {
      throw VaultError.unavailable("not begun")
    }
  }

  @Test func `opens its vault, for its owner only`() async throws {
    try await sealedSession()
    #expect(try home.mode("passphrase.key") == 0o600)
    #expect(!home.names().contains("vault.key"))
    let later = passphrase()
    try await later.unlock(with: right)
    guard case .value(let entry) = await vault(later).read() else {
      Issue.record("not opened")
      return
    }
    #expect(entry.session == VaultSamples.session())
  }

  @Test func `that was not entered leaves the vault locked: never absent, no write, no new key`() async throws {
    try await sealedSession()
    let before = try home.bytes("passphrase.key")
    let later = passphrase()
    let vault = vault(later)
    #expect(await vault.read() == .trouble(.locked))
    for edit in [VaultEdit.begin(VaultSamples.session("s2")), .touch(SessionID("s1"), at: VaultSamples.moment(5))] {
      #expect(await vault.edit(edit) == .failed(.locked))
    }
    await #expect(throws: PassphraseError.wrong) { try await later.unlock(with: wrong) }
    #expect(await vault.read() == .trouble(.locked) && !later.isUnlocked)
    #expect(try home.bytes("passphrase.key") == before && !home.names().contains("vault.key"))
    try await later.unlock(with: right)
    #expect(await vault.read() != .trouble(.locked))
    later.lock()
    #expect(await vault.read() == .trouble(.locked))
  }

  @Test func `notifies the vault's observers that it is open`() async throws {
    try await sealedSession()
    let later = passphrase()
    var changes = vault(later).changes().makeAsyncIterator()
    try await later.unlock(with: right)
    #expect(await changes.next() != nil)
    #expect(await vault(later).read() != .trouble(.locked))
  }

  @Test func `that is lost leaves the vault inaccessible, but in place`() async throws {
    try await sealedSession()
    let file = try home.bytes("passphrase.key")
    try home.remove("passphrase.key")
    let later = passphrase()
    guard case .trouble(.wrongKey) = await vault(later).read() else {
      Issue.record("\(await vault(later).read())")
      return
    }
    guard case .failed(.wrongKey) = await vault(later).edit(.begin(VaultSamples.session("s2"))) else {
      Issue.record("written without the passphrase")
      return
    }
    await #expect(throws: PassphraseError.otherKey) { try await later.set(right) }
    await #expect(throws: PassphraseError.notSet) { try await later.unlock(with: right) }
    try home.write(file, to: "passphrase.key")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: home.vaults + "/passphrase.key")
    try await later.unlock(with: right)
    guard case .value = await vault(later).read() else {
      Issue.record("not opened")
      return
    }
  }

  @Test func `must be set before the first write, and once`() async throws {
    let passphrase = passphrase()
    #expect(
      await vault(passphrase).edit(.begin(VaultSamples.session())) == .failed(.passphrase("no passphrase has been set"))
    )
    #expect(try !passphrase.isSet())
    try await passphrase.set(right)
    #expect(try passphrase.isSet() && passphrase.isUnlocked)
    await #expect(throws: PassphraseError.alreadySet) { try await self.passphrase().set(wrong) }
  }

  @Test func `takes over the key file beside the vaults`() async throws {
    _ = await home.vault().edit(.begin(VaultSamples.session()))
    #expect(home.names().contains("vault.key"))
    let passphrase = passphrase()
    try await passphrase.set(right)
    #expect(!home.names().contains("vault.key"))
    guard case .value = await vault(passphrase).read(), case .trouble(.wrongKey) = await home.vault().read() else {
      Issue.record("the key was not taken over")
      return
    }
    #expect(await vault(self.passphrase()).read() == .trouble(.locked))
  }

  @Test func `can be changed, and the old one no longer opens the vault`() async throws {
    try await sealedSession()
    let new = Secret("a new and longer one")
    let passphrase = passphrase()
    await #expect(throws: PassphraseError.wrong) { try await passphrase.change(from: wrong, to: new) }
    await #expect(throws: PassphraseError.tooShort(minimum: 8)) {
      try await passphrase.change(from: right, to: Secret("short"))
    }
    try await passphrase.change(from: right, to: new)
    let later = self.passphrase()
    await #expect(throws: PassphraseError.wrong) { try await later.unlock(with: right) }
    try await later.unlock(with: new)
    guard case .value = await vault(later).read() else {
      Issue.record("not opened")
      return
    }
  }

  @Test func `is delayed after five wrong attempts, in any process`() async throws {
    try await sealedSession()
    for _ in 0..<5 { await #expect(throws: PassphraseError.wrong) { try await passphrase().unlock(with: wrong) } }
    await #expect(throws: PassphraseError.lockedOut(retryAfter: .seconds(30))) {
      try await passphrase().unlock(with: right)
    }
    clock.advance(by: .seconds(30) - .nanoseconds(1))
    // Setting the wall clock does not help.
    clock.setWall(UnixTime(seconds: 2_000_000_000))
    await #expect(throws: PassphraseError.lockedOut(retryAfter: .nanoseconds(1))) {
      try await passphrase().change(from: right, to: wrong)
    }
    // After a restart, the wait starts over.
    clock.reboot()
    await #expect(throws: PassphraseError.lockedOut(retryAfter: .seconds(30))) {
      try await passphrase().unlock(with: right)
    }
    clock.advance(by: .seconds(30))
    await #expect(throws: PassphraseError.wrong) { try await passphrase().unlock(with: wrong) }
    await #expect(throws: PassphraseError.lockedOut(retryAfter: .seconds(60))) {
      try await passphrase().unlock(with: right)
    }
    clock.advance(by: .seconds(60))
    try await passphrase().unlock(with: right)
    // A correct entry clears the count.
    for _ in 0..<4 { await #expect(throws: PassphraseError.wrong) { try await passphrase().unlock(with: wrong) } }
    try await passphrase().unlock(with: right)
  }

  @Test func `counts attempts even if the attempts file is damaged`() async throws {
    try await sealedSession()
    try home.write(Array("HSTTRIES nonsense".utf8), to: "passphrase.tries")
    await #expect(throws: PassphraseError.lockedOut(retryAfter: .seconds(30))) {
      try await passphrase().unlock(with: right)
    }
  }

  @Test func `whose file was altered anywhere is damaged, never wrong, and never opens`() async throws {
    try await sealedSession()
    let file = try home.bytes("passphrase.key")
    for index in file.indices {
      // The second makes a 3 of the digit.
      for change in [1, 2, 0x80] as [UInt8] {
        var changed = file
        changed[index] ^= change
        #expect(throws: PassphraseError.damaged, "byte \(index)") { try PassphraseFormat.Header(changed) }
      }
      #expect(throws: PassphraseError.damaged) { try PassphraseFormat.Header(Array(file[..<index])) }
    }
    #expect(throws: PassphraseError.damaged) { try PassphraseFormat.Header(file + [0]) }
    try home.write(Array(file.dropLast()), to: "passphrase.key")
    let later = passphrase()
    await #expect(throws: PassphraseError.damaged) { try await later.unlock(with: right) }
    #expect(await vault(later).read() == .trouble(.locked))
    // That does not count as an attempt.
    #expect(!home.names().contains("passphrase.tries"))
  }

  @Test(arguments: [(9, 40), (9, 63), (9, 9), (10, 255), (11, 255), (8, 2)])
  func `whose file demands excessive work is not tried at all`(place: Int, value: UInt8) async throws {
    try await sealedSession()
    var file = try home.bytes("passphrase.key")
    file[place] = value
    file.replaceSubrange(88..., with: SealedFormat.check(file[..<88]))
    try home.write(file, to: "passphrase.key")
    await #expect(
      throws: PassphraseError.storage(
        .newerFormat("this version of the program does not know how the key is sealed"))
    ) {
      try await passphrase().unlock(with: right)
    }
  }

  @Test func `from a file that others may read, or of a newer version, is rejected`() async throws {
    try await sealedSession()
    var file = try home.bytes("passphrase.key")
    file[7] = UInt8(ascii: "2")
    file = Array(file[..<88]) + [0]
    file += SealedFormat.check(file[...])
    try home.write(file, to: "passphrase.key")
    await #expect(
      throws: PassphraseError.storage(.newerFormat("a newer version of the program sealed this key"))
    ) {
      try await passphrase().unlock(with: right)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: home.vaults + "/passphrase.key")
    let error = await #expect(throws: PassphraseError.self) { try await passphrase().unlock(with: right) }
    guard case .storage(.permissions)? = error else { throw Unexpected() }
  }

  // MARK: Presence check

  @Test func `confirms presence, also after a wrong attempt`() async throws {
    try await sealedSession()
    let asked = Locked<[Passphrase.Question]>([])
    let person = passphrase { [wrong, right] question in
      asked.withLock {
        $0.append(question)
        return $0.count == 1 ? wrong : right
      }
    }
    try await person.confirm("to read")
    #expect(
      asked.withLock { $0 } == [.init(reason: "to read", failure: nil), .init(reason: "to read", failure: .wrong)])
    #expect(person.isUnlocked)
  }

  @Test func `reports why presence was not confirmed`() async throws {
    await #expect(throws: PresenceError.unavailable("the vault folder is missing")) {
      try await passphrase { [right] _ in right }.confirm("to read")
    }
    try await sealedSession()
    await #expect(throws: PresenceError.declined) { try await passphrase().confirm("to read") }
    await #expect(throws: PresenceError.cancelled) {
      try await passphrase { _ in throw CancellationError() }.confirm("to read")
    }
    let guesser = passphrase { [wrong] _ in wrong }
    await #expect(throws: PresenceError.declined) { try await guesser.confirm("to read") }
    await #expect(throws: PresenceError.lockedOut(retryAfter: .seconds(30))) { try await guesser.confirm("to read") }
    // No useless prompt.
    let silent = passphrase { _ in
      Issue.record("prompted all the same")
      return nil
    }
    await #expect(throws: PresenceError.lockedOut(retryAfter: .seconds(30))) { try await silent.confirm("to read") }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The text of a passphrase` {
  @Test func `is normalized, however it was typed`() {
    // RFC 8265, section 4.3; the last two by the rules of 4.2.
    for (typed, bytes) in [
      ("correct horse battery staple", "correct horse battery staple"), ("Correct Horse", "Correct Horse"),
      ("\u{3c0}\u{df}\u{e5}", "πßå"), ("Jack of \u{2666}s", "Jack of ♦s"), ("foo\u{1680}bar", "foo bar"),
      ("a\u{30a}", "\u{e5}"), ("foo\u{a0}\u{3000}bar", "foo  bar"),
    ] {
      #expect(Array(PassphraseText.normalized(typed).utf8) == Array(bytes.utf8), "\(typed)")
    }
    #expect(PassphraseText.normalized("ﬁ") == "ﬁ" && PassphraseText.normalized("Ａ") == "Ａ")
  }

  @Test func `is refused if it is short, or cannot be typed again`() {
    #expect(throws: PassphraseError.tooShort(minimum: 8)) { try PassphraseText.check(Secret("")) }
    #expect(throws: PassphraseError.tooShort(minimum: 8)) { try PassphraseText.check(Secret("1234567")) }
    #expect(throws: PassphraseError.tooShort(minimum: 8)) {
      try PassphraseText.check(Secret("e\u{301}e\u{301}e\u{301}e\u{301}"))
    }
    #expect(throws: Never.self) { try PassphraseText.check(Secret("12345678")) }
    #expect(throws: PassphraseError.unusable) { try PassphraseText.check(Secret("my cat is a \tby")) }
    #expect(throws: PassphraseError.unusable) { try PassphraseText.check(Secret(String(repeating: "x", count: 1025))) }
  }

  @Test func `is stretched by RFC 7914`() throws {
    // Section 12, the third vector; PBKDF2's first block is the same for any length.
    let key = try Scrypt.stretch(
      Array("pleaseletmein".utf8), salt: Array("SodiumChloride".utf8), cost: PassphraseCost(rounds: 14))
    let hex = key.withExposedBytes { $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
    #expect(hex == "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2")
  }
}

@Suite(.enabled(if: PassphraseSupport.isHere), .timeLimit(.minutes(10))) struct `Passphrase attempts` {
  @Test(
    arguments: [(0, 0), (4, 0), (5, 30), (6, 60), (7, 120), (11, 1920), (12, 3600), (.max, 3600)] as [(UInt32, Int64)])
  func `back off, and never forever`(failures: UInt32, seconds: Int64) {
    #expect(PassphraseTries.wait(after: failures) == .seconds(seconds))
  }
}

@Suite(
  .serialized, .enabled("needs strace and permission to trace") { await Strace.isUsable() }, .timeLimit(.minutes(10)))
struct `A passphrase change that is killed` {
  @Test func `leaves the old one or the new one, at every system call`() async throws {
    try await killAtEveryCall(
      ["change", "the old one", "the new one"],
      prepare: { home in
        _ = try await Child(home.vaults, "begin", "s1").end()
        _ = try await Child(home.vaults, "set", "the old one").end()
      }
    ) { home in
      let old = try await Child(home.vaults, "open", "the old one").end()
      let new = try await Child(home.vaults, "open", "the new one").end()
      #expect(Set([old, new]) == ["1 s1 []", "the passphrase is wrong"], "\(old), \(new)")
      #expect(
        try await Child(home.vaults, "change", new == "1 s1 []" ? "the new one" : "the old one", "the last").end()
          == "change")
      return new == "1 s1 []" ? "new" : "old"
    }
  }

  @Test func `leaves it set or unset, and never loses the key`() async throws {
    try await killAtEveryCall(
      ["set", "the new one"],
      prepare: { home in
        _ = try await Child(home.vaults, "begin", "s1").end()
      }
    ) { home in
      let beside = try await Child(home.vaults, "read").end()
      let sealed = try await Child(home.vaults, "open", "the new one").end()
      #expect(beside == "1 s1 []" || sealed == "1 s1 []", "\(beside), \(sealed)")
      // Once it is set, there is no key file beside the vaults.
      #expect(sealed != "1 s1 []" || !home.names().contains("vault.key"))
      return sealed == "1 s1 []" ? "new" : "old"
    }
  }

  private func killAtEveryCall(
    _ command: [String], prepare: (NewFolder) async throws -> Void, check: (NewFolder) async throws -> String
  ) async throws {
    var seen: Set<String> = []
    var kills = 0
    for call in ["flock", "fchmod", "pwrite64", "fsync", "renameat", "unlinkat"] {
      for number in 1... {
        let home = try NewFolder()
        try await prepare(home)
        let child = try Strace.probe([home.vaults] + command, inject: "\(call):signal=SIGKILL:when=\(number)")
        let isDone = try await child.end() == command[0]
        seen.insert(try await check(home))
        if isDone { break }
        kills += 1
        try #require(kills < 100)
      }
    }
    #expect(seen == ["old", "new"])
    #expect(kills > 5)
  }
}
