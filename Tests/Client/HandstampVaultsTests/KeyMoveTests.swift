import Foundation
import HandstampKeys
import HandstampSupport
import HandstampTesting
import Testing

@testable import Handstamp

/// The places of a key, by their names in the note.
enum KeyPlace: String, CaseIterable { case file, passphrase, desktop, keychain }

/// A secret store that all processes share.
final class DesktopKey: VaultKeyCopy {
  let key = Locked<Secret?>(nil)
  @concurrent func load() async throws(VaultError) -> Secret? { key.withLock { $0 } }
  @concurrent func store(_ new: Secret) async throws(VaultError) { key.withLock { $0 = new } }
  @concurrent func remove(_ permission: borrowing VaultKeyRemoval) async throws(VaultError) {
    key.withLock { $0 = nil }
  }
}

/// A folder of vaults, and the stores where its key can be.
final class KeyInstallation: Sendable {
  let home: NewFolder
  let desktop = DesktopKey()
  let keychain = EmulatedKeychain.Device()

  init(at place: KeyPlace) async throws {
    home = try NewFolder()
    guard case .done = await home.vault().edit(.begin(VaultSamples.session())) else { throw Unexpected() }
    if place != .file { #expect(try await KeyProgram(self).move(to: place) == nil) }
  }

  /// The places that have a copy of the key, as another process finds them.
  func copies() async throws -> [KeyPlace] {
    let program = KeyProgram(self)
    var found: [KeyPlace] = []
    for place in KeyPlace.allCases {
      let content =
        switch place {
        case .file: home.names().contains("vault.key")
        case .passphrase: home.names().contains("passphrase.key")
        case .desktop, .keychain: try await program.copies[place]?.load() != nil
        }
      if content { found.append(place) }
    }
    return found
  }
}

/// A process, with all that it knows.
struct KeyProgram: Sendable {
  let home: NewFolder
  let copies: [KeyPlace: any VaultKeyCopy]
  var place: VaultKeyPlace

  init(_ installation: KeyInstallation, typing text: String = "a long passphrase") {
    home = installation.home
    let passphrase = Passphrase(folder: home.vaults, cost: PassphraseCost(rounds: 10), clock: ManualClock()) { _ in
      Secret(text)
    }
    let copies: [KeyPlace: any VaultKeyCopy] = [
      .passphrase: PassphraseKey(passphrase, reason: "to test", new: Secret(text)), .desktop: installation.desktop,
      .keychain: KeychainVaultKey(EmulatedKeychain(installation.keychain), name: "handstamp-1"),
    ]
    self.copies = copies
    place = VaultKeyPlace(folder: home.vaults) { name in KeyPlace(rawValue: name).flatMap { copies[$0] } }
  }

  func move(to place: KeyPlace) async throws -> VaultError? { try await self.place.move(to: place.rawValue) }

  /// The vault, with the key at `noted`, which the note names now or has named.
  func vault(_ account: String = "ada", keyAt noted: String? = nil) throws -> SealedFileVault {
    let name = try noted ?? place.note().place
    let copy = KeyPlace(rawValue: name).flatMap { copies[$0] }
    return home.vault(
      account, key: copy.map { .managed(by: ManagedVaultKey(in: $0, noted: name)) } ?? .fileInVaultFolder)
  }

  /// The session that the vault has, or the trouble; never "absent".
  func session(keyAt noted: KeyPlace? = nil) async throws -> Result<SessionID?, VaultError> {
    switch try await vault(keyAt: noted?.rawValue).read() {
    case .value(let entry): return .success(entry.session?.id)
    case .trouble(let error): return .failure(error)
    case .absent, .accessOnly: throw Unexpected()
    }
  }
}

@Suite(.enabled(if: PassphraseSupport.isHere), .timeLimit(.minutes(10))) struct `A move of the key` {
  private static let moves = KeyPlace.allCases.flatMap { from in
    KeyPlace.allCases.filter { $0 != from }.map { (from, $0) }
  }
  private let session = SessionID("s1")
  private let touch = VaultEdit.touch(SessionID("s1"), at: VaultSamples.moment(5))

  @Test(arguments: moves)
  func `leaves the vaults open to every process, at every step`(from: KeyPlace, to: KeyPlace) async throws {
    let installation = try await KeyInstallation(at: from)
    let writer = try KeyProgram(installation).vault()
    let flight = try await writer.lock(.refresh, within: .seconds(60))
    var mover = KeyProgram(installation)
    let steps = Locked<[VaultKeyPlace.Step]>([])
    mover.place.reached = { [session] step throws(VaultError) in
      steps.withLock { $0.append(step) }
      await #expect(throws: Never.self, "\(step)") {
        #expect(try await KeyProgram(installation).session() == .success(session), "\(step)")
        // This one has read the note before the move.
        switch try await KeyProgram(installation).session(keyAt: from) {
        case .success(let found): #expect(found == session)
        case .failure(let error): #expect(error == VaultKey.missing && step == .removed, "\(step)")
        }
      }
    }
    #expect(try await mover.move(to: to) == nil)
    #expect(steps.withLock { $0 } == VaultKeyPlace.Step.allCases)
    #expect(try await installation.copies() == [to])
    #expect(try mover.place.note() == VaultKeyPlace.Note(place: to.rawValue))
    #expect(try await KeyProgram(installation).session() == .success(session))
    // One that waits for the answer to a refresh can store it.
    guard case .done = await writer.edit(touch) else { throw Unexpected() }
    flight.unlock()
    // No second key is made by one that comes late.
    let late = try KeyProgram(installation).vault("bob", keyAt: from.rawValue)
    guard case .failed(.wrongKey) = await late.edit(.begin(VaultSamples.session("s2"))) else { throw Unexpected() }
    #expect(try await installation.copies() == [to])
  }

  @Test(arguments: moves, VaultKeyPlace.Step.allCases)
  func `that is killed at any step loses nothing, and can go on or elsewhere`(
    move: (KeyPlace, KeyPlace), step: VaultKeyPlace.Step
  ) async throws {
    let (from, to) = move
    // The same move again, or back; in a deep run, every one.
    let isDeep = ProcessInfo.processInfo.environment["HANDSTAMP_DEEP"] != nil
    for next in isDeep ? KeyPlace.allCases : [to, from] {
      let installation = try await KeyInstallation(at: from)
      var mover = KeyProgram(installation)
      mover.place.reached = { reached throws(VaultError) in if reached == step { throw .unavailable("killed") } }
      var trouble: (any Error)?
      do { trouble = try await mover.move(to: to) } catch { trouble = error }
      #expect(trouble as? VaultError == .unavailable("killed"))
      let place = try mover.place.note().place
      #expect(place == (step == .committed || step == .removed ? to : from).rawValue)
      #expect(try await KeyProgram(installation).session() == .success(session))
      guard case .done = try await KeyProgram(installation).vault().edit(touch) else { throw Unexpected() }
      // A copy that is left beside a sealed one goes as soon as that is unlocked, unless the move was to it.
      if place == "passphrase", from == .file { #expect(!installation.home.names().contains("vault.key")) }
      #expect(try await KeyProgram(installation).move(to: next) == nil)
      #expect(try await installation.copies() == [next], "then \(next)")
      #expect(try mover.place.note() == VaultKeyPlace.Note(place: next.rawValue))
      #expect(try await KeyProgram(installation).session() == .success(session))
    }
  }

  @Test func `that is killed may go on with another passphrase`() async throws {
    let installation = try await KeyInstallation(at: .file)
    var mover = KeyProgram(installation)
    mover.place.reached = { step throws(VaultError) in if step == .stored { throw .unavailable("killed") } }
    await #expect(throws: VaultError.self) { _ = try await mover.move(to: .passphrase) }
    #expect(try await installation.copies() == [.file, .passphrase])
    let other = KeyProgram(installation, typing: "another passphrase")
    #expect(try await other.move(to: .passphrase) == nil)
    #expect(try await installation.copies() == [.passphrase])
    #expect(try await KeyProgram(installation, typing: "another passphrase").session() == .success(session))
  }

  @Test func `at the same time as others ends in one place`() async throws {
    let installation = try await KeyInstallation(at: .passphrase)
    await withTaskGroup { group in
      for place in KeyPlace.allCases + KeyPlace.allCases {
        group.addTask { _ = try? await KeyProgram(installation).move(to: place) }
        group.addTask { _ = try? await KeyProgram(installation).session() }
      }
    }
    #expect(try await KeyProgram(installation).session() == .success(session))
    let place = try KeyProgram(installation).place.note().place
    #expect(try await installation.copies().map(\.rawValue) == [place])
  }

  @Test func `says why a copy stays, and removes it when it is repeated`() async throws {
    let installation = try await KeyInstallation(at: .keychain)
    installation.keychain.intercept { if case .delete = $0 { .interactionNotAllowed } else { nil } }
    #expect(try await KeyProgram(installation).move(to: .file) == .locked)
    let program = KeyProgram(installation)
    #expect(try program.place.note() == VaultKeyPlace.Note(place: "file", leftovers: ["keychain"]))
    #expect(try await program.session() == .success(session))
    #expect(try await program.move(to: .passphrase) == .locked)
    #expect(try await installation.copies() == [.passphrase, .keychain])
    installation.keychain.intercept(nil)
    #expect(try await program.move(to: .passphrase) == nil)
    #expect(try await installation.copies() == [.passphrase])
  }

  @Test func `removes no other key that a vault needs`() async throws {
    let installation = try await KeyInstallation(at: .file)
    let key = try installation.home.bytes("vault.key")
    // A key of a previous life of this folder.
    #expect(try await KeyProgram(installation).move(to: .passphrase) == nil)
    let sealed = try installation.home.bytes("passphrase.key")
    try installation.home.remove("passphrase.key")
    try installation.home.remove("vault.key-store")
    for name in installation.home.names(ending: ".vault") { try installation.home.remove(name) }
    guard case .done = await installation.home.vault("bob").edit(.begin(VaultSamples.session())) else {
      throw Unexpected()
    }
    let new = try installation.home.bytes("vault.key")
    #expect(new != key)
    try write(sealed, "passphrase.key", in: installation)
    try write(Array("passphrase\n".utf8), "vault.key-store", in: installation)
    #expect(try await KeyProgram(installation).move(to: .desktop) == .wrongKey("the key opens none of the vaults"))
    #expect(try installation.home.bytes("vault.key") == new)
    // Nothing was sealed with the other one.
    await #expect(throws: VaultError.wrongKey("the new place holds another key")) {
      _ = try await KeyProgram(installation).move(to: .file)
    }
    try installation.home.remove("vault.key-store")
    #expect(try await KeyProgram(installation, typing: "a new passphrase").move(to: .passphrase) == nil)
    #expect(try await installation.copies() == [.passphrase, .desktop])
    guard case .value = try await KeyProgram(installation, typing: "a new passphrase").vault("bob").read() else {
      throw Unexpected()
    }
  }

  @Test func `before there is a key chooses its place, and leaves a home with a key alone`() async throws {
    let installation = try await KeyInstallation(at: .file)
    let program = KeyProgram(installation)
    await #expect(throws: VaultError.self) { _ = try await program.place.move(to: "desktop", onlyNew: true) }
    #expect(try await installation.copies() == [.file] && program.place.note() == VaultKeyPlace.Note())
    for name in installation.home.names() { try installation.home.remove(name) }
    #expect(try await program.place.move(to: "desktop", onlyNew: true) == nil)
    #expect(try await installation.copies() == [.desktop])
    guard case .done = await (try program.vault()).edit(.begin(VaultSamples.session())) else { throw Unexpected() }
  }

  @Test func `is noted in lines, of which the first is the place`() async throws {
    let installation = try await KeyInstallation(at: .file)
    let place = KeyProgram(installation).place
    for (text, note) in [
      ("desktop\n", VaultKeyPlace.Note(place: "desktop")),
      ("file\nto desktop\nleft a b\nleft c\n", .init(place: "file", target: "desktop", leftovers: ["a b", "c"])),
    ] {
      try write(Array(text.utf8), "vault.key-store", in: installation)
      #expect(try place.note() == note)
    }
    for text in ["", "\n", "desktop", "desktop\n\n", "desktop\nleft \n", "desktop\nleft a\nto b\n", "desktop\nmoon\n"] {
      try write(Array(text.utf8), "vault.key-store", in: installation)
      #expect(throws: VaultError.wrongKey("vault.key-store is damaged"), "\(text)") { try place.note() }
    }
  }

  // MARK: A key file beside a sealed key

  @Test(
    arguments: [
      (nil, false), ("passphrase\n", false), ("passphrase\nleft file\n", false), ("passphrase\nto file\n", true),
      ("file\nleft passphrase\n", true), ("file\nto passphrase\n", true),
    ] as [(String?, Bool)])
  func `is removed by an unlock, unless the note names it`(note: String?, stays: Bool) async throws {
    let installation = try await sealed(besideFile: true)
    if let note { try write(Array(note.utf8), "vault.key-store", in: installation) }
    try await unlock(installation)
    #expect(installation.home.names().contains("vault.key") == stays)
    #expect(try await KeyProgram(installation).session(keyAt: stays ? .file : .passphrase) == .success(session))
    if note?.contains("left file") == true {
      #expect(try KeyProgram(installation).place.note() == VaultKeyPlace.Note(place: "passphrase"))
    }
  }

  @Test(arguments: ["other key", "other vault", "busy", "no vault", "no vault, other key"])
  func `stays until the sealed key has opened a vault`(reason: String) async throws {
    let installation = try await sealed(besideFile: true)
    let home = installation.home
    if reason.hasPrefix("no vault") { for name in home.names(ending: ".vault") { try home.remove(name) } }
    if reason.hasSuffix("other key") {
      try home.remove("vault.key")
      _ = try VaultKeyFile(beside: PosixFile.makeFolder(home.vaults)).make()
    } else if reason == "other vault" {
      let other = try await KeyInstallation(at: .file)
      let name = try #require(home.names(ending: ".vault").first)
      try home.write(try other.home.bytes(name), to: name)
    }
    if reason == "busy" {
      let lock = try await VaultFolder.lock(in: PosixFile.makeFolder(home.vaults), within: .seconds(1))
      defer { lock.unlock() }
      try await unlock(installation)
      #expect(home.names().contains("vault.key"))
    }
    try await unlock(installation)
    #expect(home.names().contains("vault.key") == !["busy", "no vault"].contains(reason))
  }

  private func sealed(besideFile: Bool) async throws -> KeyInstallation {
    let installation = try await KeyInstallation(at: .file)
    let file = try installation.home.bytes("vault.key")
    #expect(try await KeyProgram(installation).move(to: .passphrase) == nil)
    try installation.home.remove("vault.key-store")
    try write(file, "vault.key", in: installation)
    return installation
  }

  private func unlock(_ installation: KeyInstallation) async throws {
    try await Passphrase(folder: installation.home.vaults, cost: PassphraseCost(rounds: 10), clock: ManualClock())
      .unlock(with: Secret("a long passphrase"))
  }

  private func write(_ bytes: [UInt8], _ name: String, in installation: KeyInstallation) throws {
    try installation.home.write(bytes, to: name)
    #expect(chmod("\(installation.home.vaults)/\(name)", 0o600) == 0)
  }
}

/// Runs in `make check-deep`: it starts some hundred processes.
@Suite(
  .timeLimit(.minutes(30)), .serialized, .enabled(if: ProcessInfo.processInfo.environment["HANDSTAMP_DEEP"] != nil),
  .enabled("needs strace and permission to trace") { await Strace.isUsable() })
struct `A process that moves the key` {
  @Test(arguments: [(KeyPlace.file, KeyPlace.passphrase), (.passphrase, .file)])
  func `can be killed at every system call`(from: KeyPlace, to: KeyPlace) async throws {
    var kills = 0
    for call in ["flock", "fchmod", "pwrite64", "fsync", "linkat", "renameat", "unlinkat"] {
      for number in 1... {
        let installation = try await KeyInstallation(at: from)
        let child = try Strace.probe(
          [installation.home.vaults, "move", to.rawValue], inject: "\(call):signal=SIGKILL:when=\(number)")
        let isDone = try await child.end() == "moved"
        let words: Comment = "\(call) \(number)"
        #expect(try await KeyProgram(installation).session() == .success(SessionID("s1")), words)
        #expect(try await KeyProgram(installation).move(to: to) == nil, words)
        #expect(try await installation.copies() == [to], words)
        #expect(try await KeyProgram(installation).session() == .success(SessionID("s1")), words)
        if isDone { break }
        kills += 1
        try #require(kills < 200)
      }
    }
    #expect(kills > 15)
  }
}
