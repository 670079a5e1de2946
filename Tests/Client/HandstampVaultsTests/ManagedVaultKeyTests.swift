import Foundation
import HandstampSupport
import HandstampTesting
import Testing

@testable import Handstamp

/// A key store that follows the test's script.
private final class ScriptedKeyStore: VaultKeyCopy {
  struct State {
    var key: Secret?
    var trouble: VaultError?
    /// Accepts a key and forgets it.
    var isForgetful = false
    var asked = 0
  }

  let state = Locked(State())

  @concurrent func load() async throws(VaultError) -> Secret? {
    let (key, trouble) = state.withLock { state in
      state.asked += 1
      return (state.key, state.trouble)
    }
    if let trouble { throw trouble }
    return key
  }

  @concurrent func store(_ key: Secret) async throws(VaultError) {
    let trouble = state.withLock { state in
      if state.trouble == nil, !state.isForgetful { state.key = key }
      return state.trouble
    }
    if let trouble { throw trouble }
  }

  @concurrent func remove(_ permission: borrowing VaultKeyRemoval) async throws(VaultError) {
    state.withLock { $0.key = nil }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A key kept by another store` {
  let home: NewFolder
  private let store = ScriptedKeyStore()

  init() throws { home = try NewFolder() }

  /// The vault as another process would open it.
  private func vault() -> SealedFileVault { home.vault(key: .managed(by: ManagedVaultKey(in: store))) }

  private func bytes() throws -> [UInt8] { try home.names(ending: ".vault").flatMap { try home.bytes($0) } }

  private func sealedSession() async throws {
    guard case .done = await vault().edit(.begin(VaultSamples.session())) else {
      throw VaultError.unavailable("not begun")
    }
  }

  @Test func `serves a vault that keeps every promise`() async throws {
    let folders = Folders()
    try await checkVault {
      try await folders.make().vault(key: .managed(by: ManagedVaultKey(in: ScriptedKeyStore())))
    } again: { first in
      SealedFileVault(folder: first.folder, account: first.account, key: first.key, patience: .seconds(120))
    }
  }

  @Test func `is created with the first vault, is in no file, and is loaded once`() async throws {
    #expect(await vault().read() == .absent)
    #expect(store.state.withLock { $0.key } == nil)
    try await sealedSession()
    #expect(store.state.withLock { $0.key?.count } == 32)
    #expect(!home.names().contains("vault.key"))
    let later = vault()
    store.state.withLock { $0.asked = 0 }
    for _ in 0..<5 {
      guard case .value(let entry) = await later.read() else {
        Issue.record("not opened")
        return
      }
      #expect(entry.session == VaultSamples.session())
    }
    #expect(store.state.withLock { $0.asked } == 1)
  }

  @Test(arguments: [VaultError.locked, .unavailable("no answer")])
  func `that is unavailable leaves everything unchanged`(trouble: VaultError) async throws {
    try await sealedSession()
    let before = try bytes()
    store.state.withLock { $0.trouble = trouble }
    let later = vault()
    #expect(await later.read() == .trouble(trouble))
    for edit in [VaultEdit.begin(VaultSamples.session("s2")), .touch(SessionID("s1"), at: VaultSamples.moment(5))] {
      #expect(await later.edit(edit) == .failed(trouble))
    }
    #expect(try bytes() == before)
    store.state.withLock { $0.trouble = nil }
    guard case .value = await later.read() else {
      Issue.record("not opened although the store answers")
      return
    }
  }

  @Test func `that was lost is not replaced while a vault needs it`() async throws {
    try await sealedSession()
    store.state.withLock { $0.key = nil }
    let later = vault()
    #expect(await later.read() == .trouble(VaultKey.missing))
    #expect(await later.edit(.begin(VaultSamples.session("s2"))) == .failed(VaultKey.missing))
    #expect(store.state.withLock { $0.key } == nil)
  }

  @Test func `that the store does not keep seals no vault`() async throws {
    store.state.withLock { $0.isForgetful = true }
    guard case .failed(.unavailable) = await vault().edit(.begin(VaultSamples.session())) else {
      Issue.record("a vault was sealed with a lost key")
      return
    }
    #expect(home.names(ending: ".vault").isEmpty)
  }

  @Test func `notifies the vaults when it is found`() async throws {
    try await sealedSession()
    store.state.withLock { $0.trouble = .locked }
    let key = ManagedVaultKey(in: store)
    let later = home.vault(key: .managed(by: key))
    #expect(await later.read() == .trouble(.locked))
    var changes = later.changes().makeAsyncIterator()
    store.state.withLock { $0.trouble = nil }
    try await key.find()
    #expect(await changes.next() != nil)
    guard case .value = await later.read() else {
      Issue.record("not opened")
      return
    }
    key.forget()
    store.state.withLock { $0.trouble = .locked }
    #expect(await later.read() == .trouble(.locked))
  }

  @Test func `stays in place if the store refuses it, or has another`() async throws {
    _ = await home.vault().edit(.begin(VaultSamples.session()))
    let place = VaultKeyPlace(folder: home.vaults) { [store] _ in store }
    store.state.withLock { $0.trouble = .locked }
    await #expect(throws: VaultError.locked) { try await place.move(to: "scripted store") }
    store.state.withLock { ($0.trouble, $0.key) = (nil, Secret(bytes: 0..<32)) }
    await #expect(throws: VaultError.self) { try await place.move(to: "scripted store") }
    store.state.withLock { ($0.isForgetful, $0.key) = (true, nil) }
    await #expect(throws: VaultError.self) { try await place.move(to: "scripted store") }
    #expect(try place.note() == VaultKeyPlace.Note())
    #expect(await isOpen(home.vault()))
  }

  private func isOpen(_ vault: SealedFileVault) async -> Bool {
    guard case .value(let entry) = await vault.read() else { return false }
    return entry.session == VaultSamples.session()
  }
}
