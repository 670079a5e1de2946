import Foundation
import HandstampKeys
import HandstampSupport
import HandstampTesting
import Testing

@testable import Handstamp

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

  /// Moves the key as a process does that has these stores.
  private func move(to name: String, _ store: PassphraseKey) async throws {
    #expect(try await VaultKeyPlace(folder: home.vaults) { _ in store }.move(to: name) == nil)
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
    try await move(to: "passphrase", store(new: "a long passphrase"))
    #expect(try place.note().place == "passphrase")
    #expect(!home.names().contains("vault.key"))
    #expect(try home.mode("passphrase.key") == 0o600)
    #expect(await session(.managed(by: ManagedVaultKey(in: store(typing: ["a long passphrase"])))) == SessionID("s1"))
    #expect(asked.withLock { $0 } == [nil])
    // A program that expects a key file creates none.
    #expect(await session(.fileInVaultFolder) == nil)
    #expect(!home.names().contains("vault.key"))

    try await move(to: "file", store(typing: ["a long passphrase"]))
    #expect(try place.note() == VaultKeyPlace.Note())
    #expect(!home.names().contains("passphrase.key"))
    #expect(try home.bytes("vault.key") == first)
    #expect(await session(.fileInVaultFolder) == SessionID("s1"))
  }

  @Test func `prompts once for all callers, and stays locked without the passphrase`() async throws {
    try await begin()
    try await move(to: "passphrase", store(new: "a long passphrase"))
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
      await #expect(throws: VaultError.locked) { try await move(to: "file", store) }
      let vault = home.vault(key: .managed(by: ManagedVaultKey(in: store)))
      #expect(await vault.read() == .trouble(.locked))
    }
    #expect(asked.withLock { $0.contains(.wrong) })
    #expect(
      await session(.managed(by: ManagedVaultKey(in: store(typing: ["wrong", "a long passphrase"])))) == SessionID("s1")
    )
  }

  @Test func `that cannot be opened is reported with its cause, and stays in place`() async throws {
    try await begin()
    try await move(to: "passphrase", store(new: "a long passphrase"))
    let file = try home.bytes("passphrase.key")
    var newer = Array(file.dropLast(4))
    newer[7] = UInt8(ascii: "2")
    newer += SealedFormat.check(newer[...])
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
        _ = try await place.move(to: "passphrase", in: store(new: new))
        Issue.record("moved")
      } catch {
        #expect(error.code == "storage_passphrase", "\(error)")
      }
      #expect(try place.note() == VaultKeyPlace.Note())
      #expect(await session(.fileInVaultFolder) == SessionID("s1"))
    }
    // If nothing was sealed, the store knows it, and does not prompt.
    #expect(try await store(typing: ["x"]).load() == nil)
    #expect(asked.withLock { $0 }.isEmpty)
  }
}
