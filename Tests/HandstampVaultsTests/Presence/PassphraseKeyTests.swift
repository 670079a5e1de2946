import Foundation
import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampVaults

@Suite(.enabled(if: Scrypt.isHere)) struct `A key that a passphrase seals` {
  let home: NewFolder
  private let asked = Locked<[PassphraseError?]>([])

  init() throws { home = try NewFolder() }

  /// As another process would have it: asked once for each word in `typed`.
  private func store(typing typed: [String] = [], new: String? = nil) -> PassphraseKey {
    let left = Locked(typed)
    let passphrase = Passphrase(folder: home.vaults, cost: PassphraseCost(rounds: 10), clock: ManualClock()) {
      [asked] question in
      asked.withLock { $0.append(question.failure) }
      return left.withLock { $0.isEmpty ? nil : Secret($0.removeFirst()) }
    }
    return PassphraseKey(passphrase, reason: "to test", new: new.map { Secret($0) })
  }

  private var place: VaultKeyPlace { VaultKeyPlace(folder: home.vaults) }

  private func session(_ key: VaultKey) async -> SessionID? {
    guard case .value(let entry) = await home.vault(key: key).read() else { return nil }
    return entry.session?.id
  }

  private func begin() async throws {
    guard case .done = await home.vault().edit(.begin(VaultSamples.session())) else {
      throw VaultTrouble.unavailable("not begun")
    }
  }

  @Test func `takes the key of vaults that are there, and gives it back`() async throws {
    try await begin()
    let first = try home.bytes("vault.key")
    try await place.move(to: store(new: "a long passphrase"), noting: "passphrase")
    #expect(try place.note() == "passphrase")
    #expect(!home.names().contains("vault.key"))
    #expect(try home.mode("passphrase.key") == 0o600)
    #expect(await session(.kept(KeptKey(in: store(typing: ["a long passphrase"])))) == SessionID("s1"))
    #expect(asked.withLock { $0 } == [nil])
    // A program that looks for a key file makes none.
    #expect(await session(.fileBeside) == nil)
    #expect(!home.names().contains("vault.key"))

    let back = store(typing: ["a long passphrase"])
    try await place.moveBack(from: back)
    try await back.remove()
    #expect(try place.note() == nil)
    #expect(!home.names().contains("passphrase.key"))
    #expect(try home.bytes("vault.key") == first)
    #expect(await session(.fileBeside) == SessionID("s1"))
  }

  @Test func `is asked for once, however many want it, and stays locked without it`() async throws {
    try await begin()
    try await place.move(to: store(new: "a long passphrase"), noting: "passphrase")
    let one = store(typing: ["a long passphrase"])
    let keys = try await withThrowingTaskGroup(of: Secret?.self) { group in
      for _ in 0..<20 { group.addTask { try await one.load() } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(keys.map { $0?.count }) == [32])
    #expect(asked.withLock { $0 } == [nil])
    for typed in [[], ["wrong passphrase"]] {
      let store = store(typing: typed)
      await #expect(throws: VaultTrouble.locked) { try await store.load() }
      await #expect(throws: VaultTrouble.locked) { try await place.moveBack(from: store) }
      let vault = home.vault(key: .kept(KeptKey(in: store)))
      #expect(await vault.read() == .trouble(.locked))
    }
    #expect(asked.withLock { $0.contains(.wrong) })
    #expect(await session(.kept(KeptKey(in: store(typing: ["wrong", "a long passphrase"])))) == SessionID("s1"))
  }

  @Test func `is nothing without a passphrase that will do`() async throws {
    try await begin()
    for new in [nil, "short", "a line\nand another"] {
      await #expect(throws: VaultTrouble.self) { try await place.move(to: store(new: new), noting: "passphrase") }
      #expect(try place.note() == nil)
      #expect(await session(.fileBeside) == SessionID("s1"))
    }
    // Where nothing was sealed, that is known, and nobody is asked.
    #expect(try await store(typing: ["x"]).load() == nil)
    #expect(asked.withLock { $0 }.isEmpty)
  }

  @Test func `of a move that was killed is put right by the next`() async throws {
    try await begin()
    // Killed before the note: the key file opens the vaults still, and another passphrase may be chosen.
    try await store(new: "a first passphrase").store(try #require(try KeyFile.stored(in: home.vaults)))
    #expect(await session(.fileBeside) == SessionID("s1"))
    let second = store(new: "a second passphrase")
    try await second.remove()
    try await place.move(to: second, noting: "passphrase")
    #expect(await session(.kept(KeptKey(in: store(typing: ["a second passphrase"])))) == SessionID("s1"))
    await #expect(throws: VaultTrouble.locked) { try await store(typing: ["a first passphrase"]).load() }
    // Killed on the way back, after the note went: the file counts, and what is sealed is in nobody's way.
    try await place.moveBack(from: store(typing: ["a second passphrase"]))
    #expect(await session(.fileBeside) == SessionID("s1"))
    try await store().remove()
    #expect(await session(.fileBeside) == SessionID("s1"))
  }
}

extension KeyFile {
  fileprivate static func stored(in path: String) throws -> Secret? {
    guard let folder = try PosixFile.folder(path) else { return nil }
    return try KeyFile(beside: folder).loadSecret()
  }
}
