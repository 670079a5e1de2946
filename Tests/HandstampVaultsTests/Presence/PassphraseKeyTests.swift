import Foundation
import HandstampCore
import HandstampKeys
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampVaults

@Suite(.enabled(if: PassphraseSupport.isHere), .timeLimit(.minutes(10))) struct `A key sealed with a passphrase` {
  let home: NewFolder
  private let asked = Locked<[PassphraseError?]>([])

  init() throws { home = try NewFolder() }

  /// The store as in another process: it is prompted once for each entry in `typed`.
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
      throw VaultError.unavailable("not begun")
    }
  }

  @Test func `takes over the key of existing vaults, and gives it back`() async throws {
    try await begin()
    let first = try home.bytes("vault.key")
    try await place.move(to: store(new: "a long passphrase"), noting: "passphrase")
    #expect(try place.note() == "passphrase")
    #expect(!home.names().contains("vault.key"))
    #expect(try home.mode("passphrase.key") == 0o600)
    #expect(await session(.managed(by: KeptKey(in: store(typing: ["a long passphrase"])))) == SessionID("s1"))
    #expect(asked.withLock { $0 } == [nil])
    // A program that expects a key file creates none.
    #expect(await session(.fileInVaultFolder) == nil)
    #expect(!home.names().contains("vault.key"))

    let back = store(typing: ["a long passphrase"])
    try await place.moveBack(from: back)
    try await back.remove()
    #expect(try place.note() == nil)
    #expect(!home.names().contains("passphrase.key"))
    #expect(try home.bytes("vault.key") == first)
    #expect(await session(.fileInVaultFolder) == SessionID("s1"))
  }

  @Test func `prompts once for all callers, and stays locked without the passphrase`() async throws {
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
      await #expect(throws: VaultError.locked) { try await store.load() }
      await #expect(throws: VaultError.locked) { try await place.moveBack(from: store) }
      let vault = home.vault(key: .managed(by: KeptKey(in: store)))
      #expect(await vault.read() == .trouble(.locked))
    }
    #expect(asked.withLock { $0.contains(.wrong) })
    #expect(await session(.managed(by: KeptKey(in: store(typing: ["wrong", "a long passphrase"])))) == SessionID("s1"))
  }

  @Test func `that cannot be opened is reported with its cause, and stays in place`() async throws {
    try await begin()
    try await place.move(to: store(new: "a long passphrase"), noting: "passphrase")
    let file = try home.bytes("passphrase.key")
    var newer = file
    newer[7] = UInt8(ascii: "2")
    func code(mode: Int = 0o600, typing typed: [String] = ["a long passphrase"]) async throws -> String? {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: home.vaults + "/passphrase.key")
      do throws(VaultError) {
        _ = try await store(typing: typed).load()
        return nil
      } catch { return error.code }
    }
    #expect(try await code(mode: 0o644) == "storage_permissions")
    for (bytes, expected) in [(newer, "storage_newer_format"), (file.dropLast(), "storage_wrong_key")] {
      try home.write(bytes, to: "passphrase.key")
      #expect(try await code() == expected)
      #expect(try home.bytes("passphrase.key") == bytes)
    }
    try home.write(file, to: "passphrase.key")
    for _ in 0..<4 { #expect(try await code(typing: ["wrong passphrase"]) == "storage_locked") }
    // After the fifth, only waiting helps, not the passphrase.
    #expect(try await code(typing: ["wrong passphrase"]) == "storage_unavailable")
    #expect(try await code() == "storage_unavailable")
  }

  @Test func `is not created without a valid passphrase`() async throws {
    try await begin()
    for new in [nil, "short", "a line\nand another"] {
      do throws(VaultError) {
        try await place.move(to: store(new: new), noting: "passphrase")
        Issue.record("moved")
      } catch {
        #expect(error.code == "storage_passphrase", "\(error)")
      }
      #expect(try place.note() == nil)
      #expect(await session(.fileInVaultFolder) == SessionID("s1"))
    }
    // If nothing was sealed, the store knows it, and does not prompt.
    #expect(try await store(typing: ["x"]).load() == nil)
    #expect(asked.withLock { $0 }.isEmpty)
  }

  @Test func `after an interrupted move is repaired by the next one`() async throws {
    try await begin()
    // Killed before the note: the key file still opens the vaults, and another passphrase may be chosen.
    try await store(new: "a first passphrase").store(try #require(try KeyFile.stored(in: home.vaults)))
    #expect(await session(.fileInVaultFolder) == SessionID("s1"))
    let second = store(new: "a second passphrase")
    try await second.remove()
    try await place.move(to: second, noting: "passphrase")
    #expect(await session(.managed(by: KeptKey(in: store(typing: ["a second passphrase"])))) == SessionID("s1"))
    await #expect(throws: VaultError.locked) { try await store(typing: ["a first passphrase"]).load() }
    // Killed on the way back, after the note was removed: the file counts, and the sealed key is not in the way.
    try await place.moveBack(from: store(typing: ["a second passphrase"]))
    #expect(await session(.fileInVaultFolder) == SessionID("s1"))
    try await store().remove()
    #expect(await session(.fileInVaultFolder) == SessionID("s1"))
  }
}

extension KeyFile {
  fileprivate static func stored(in path: String) throws -> Secret? {
    guard let folder = try PosixFile.folder(path) else { return nil }
    return try KeyFile(beside: folder).loadSecret()
  }
}
