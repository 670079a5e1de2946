import Foundation
import HandstampCore
import HandstampTesting
import HandstampVaults
import Testing

@Suite(.serialized) struct `A vault that many processes share` {
  let home: NewFolder

  init() throws { home = try NewFolder() }

  @Test func `loses no edit of twenty processes at once`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    let children = try (0..<20).map { _ in try Child(home.vaults, "touch", "s1", "25") }
    for child in children {
      let text = try await child.end()
      #expect(text.hasPrefix("done "), "\(text)")
    }
    guard case .value(let entry) = await vault.read() else { throw Unexpected() }
    #expect(entry.revision == 501)
  }

  @Test func `keeps every sign-in of twenty processes, and one key, from the very first`() async throws {
    let children = try (0..<20).map { try Child(home.vaults, "begin", "s\($0)") }
    for child in children {
      let text = try await child.end()
      #expect(text.hasPrefix("done "), "\(text)")
    }
    guard case .value(let entry) = await home.vault().read() else { throw Unexpected() }
    #expect(entry.tombstones.count == 19)
    #expect(entry.revision == 20)
  }

  @Test func `keeps the rotation key of the first of twenty`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    let children = try (0..<20).map { try Child(home.vaults, "prepare", "s1", "\($0)") }
    for child in children { #expect(try await child.end().hasPrefix("done 2 s1")) }
    guard case .value(let entry) = await vault.read() else { throw Unexpected() }
    #expect(entry.session?.pendingKey != nil)
  }

  @Test func `gets the flight lock back from a process that was killed`() async throws {
    let vault = home.vault()
    let child = try Child(home.vaults, "hold")
    #expect(await child.wait(for: "held"))
    #expect((try? await vault.lock(within: .milliseconds(50))) == nil)
    do {
      _ = try await vault.lock(within: .zero)
      Issue.record("two hold the flight lock")
    } catch {
      #expect(error == .unavailable("the flight lock is held by process \(child.id) (VaultProbe)"))
    }
    let waiter = Task { (try? await vault.lock(within: .seconds(60))) != nil }
    await child.kill()
    #expect(await waiter.value)
  }

  @Test func `gets the flight lock from a process that lets go`() async throws {
    let child = try Child(home.vaults, "hold")
    #expect(await child.wait(for: "held"))
    let waiter = Task { (try? await home.vault().lock(within: .seconds(60))) != nil }
    #expect(try await child.end().contains("let go"))
    #expect(await waiter.value)
  }

  @Test func `gives up on an edit while a process that was stopped does not let go, and reads nevertheless`()
    async throws
  {
    _ = await home.vault().edit(.begin(VaultSamples.session()))
    let child = try Child(home.vaults, "begin", "s2", environment: ["VAULT_PROBE_STOP": "locked"])
    #expect(await child.wait(for: "stopped"))
    let hasty = SealedFileVault(folder: home.vaults, account: AccountID("ada"), patience: .milliseconds(50))
    let edit = VaultEdit.touch(SessionID("s1"), at: VaultSamples.moment(3))
    #expect(await hasty.edit(edit) == .failed(.unavailable("another process does not let go of the vault")))
    guard case .value(let entry) = await hasty.read() else { throw Unexpected() }
    #expect(entry.session?.id == SessionID("s1"))
    child.resume()
    #expect(try await child.end().hasSuffix("done 2 s2 [\"s1\"]"))
    guard case .conflict = await hasty.edit(edit) else { throw Unexpected() }
  }

  @Test func `hears of another process's sign-in, sign-out and key`() async throws {
    let vault = home.vault()
    // The folder is not there yet.
    var changes = vault.changes().makeAsyncIterator()
    for command in [["begin", "s1"], ["prepare", "s1", "7"], ["signout"]] {
      let child = try Child([Child.probe, home.vaults] + command)
      let text = try await child.end()
      #expect(text.hasPrefix("done "), "\(text)")
      await changes.next()
    }
    guard case .value(let entry) = await vault.read() else { throw Unexpected() }
    #expect(entry.session == nil)
  }

  @Test func `is unavailable while its folder is away, is not made anew, and is what it was afterwards`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    var changes = vault.changes().makeAsyncIterator()
    for away in [home.vaults + "-away", "\(home.path)/elsewhere"] {
      // The folder itself under another name, then the one above it.
      let from = away.hasSuffix("-away") ? home.vaults : "\(home.path)/state"
      try FileManager.default.moveItem(atPath: from, toPath: away)
      #expect(await vault.read() == .trouble(Self.vanished))
      #expect(await vault.edit(.touch(SessionID("s1"), at: VaultSamples.moment(1))) == .failed(Self.vanished))
      #expect(await vault.edit(.begin(VaultSamples.session("s2"))) == .failed(Self.vanished))
      #expect(await vault.edit(.endWhatever(.signedOut, at: VaultSamples.moment(1))) == .failed(Self.vanished))
      await #expect(throws: Self.vanished) { try await vault.lock(within: .zero) }
      #expect(!FileManager.default.fileExists(atPath: from))
      try FileManager.default.moveItem(atPath: away, toPath: from)
      guard case .value(let entry) = await vault.read() else { throw Unexpected() }
      #expect(entry.session?.id == SessionID("s1"))
    }
    await changes.next()
    _ = try await Child(home.vaults, "begin", "s2").end()
    await changes.next()
  }

  @Test func `is unavailable where its folder was replaced by an empty one`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    try FileManager.default.moveItem(atPath: home.vaults, toPath: "\(home.path)/away")
    try FileManager.default.createDirectory(
      atPath: home.vaults, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    #expect(await vault.read() == .trouble(Self.vanished))
    #expect(await vault.edit(.endWhatever(.signedOut, at: VaultSamples.moment(1))) == .failed(Self.vanished))
    #expect(home.names().isEmpty)
    // Another process, which knows nothing of the former one, uses the new one, and is seen.
    _ = try await Child(home.vaults, "begin", "s2").end()
    guard case .value(let entry) = await vault.read() else { throw Unexpected() }
    #expect(entry.session?.id == SessionID("s2"))
  }

  @Test func `is unavailable where the folder of another account lies in its place, also after locking there`()
    async throws
  {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    try FileManager.default.moveItem(atPath: home.vaults, toPath: "\(home.path)/away")
    _ = await home.vault("bob").edit(.begin(VaultSamples.session("s2")))
    #expect(await vault.read() == .trouble(Self.vanished))
    try? await vault.lock(within: .zero).unlock()
    #expect(await vault.read() == .trouble(Self.vanished))
    // The end of a session leaves a trace, by which an empty vault is known to be the right one.
    _ = await home.vault().edit(.begin(VaultSamples.session("s3")))
    _ = await home.vault().edit(.endWhatever(.signedOut, at: VaultSamples.moment(1)))
    _ = await home.vault().edit(.delivered(SessionID("s3")))
    guard case .value(let entry) = await vault.read() else { throw Unexpected() }
    #expect(entry.session == nil)
  }

  @Test func `is made anew at a sign-in where nothing was stored`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    try home.remove(try #require(home.names(ending: ".vault").first))
    #expect(await vault.read() == .absent)
    try home.remove("")
    #expect(await vault.read() == .absent)
    guard case .done = await vault.edit(.begin(VaultSamples.session("s2"))) else { throw Unexpected() }
  }

  @Test func `is not made by looking`() async throws {
    let vault = home.vault()
    #expect(await vault.read() == .absent)
    #expect(await vault.edit(.endWhatever(.signedOut, at: VaultSamples.moment(1))) == .done(VaultEntry()))
    #expect(await vault.edit(.touch(SessionID("s1"), at: VaultSamples.moment(1))) == .conflict(VaultEntry()))
    #expect(!FileManager.default.fileExists(atPath: home.vaults))
  }

  private static let vanished = VaultTrouble.unavailable("the vault's folder has vanished; is its disk mounted?")

  @Test func `hears of changes again after its folder was removed and made anew`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    var changes = vault.changes().makeAsyncIterator()
    try home.remove("")
    await changes.next()
    #expect(await vault.read() == .trouble(Self.vanished))
    _ = try await Child(home.vaults, "begin", "s2").end()
    await changes.next()
    guard case .value(let entry) = await vault.read() else { throw Unexpected() }
    #expect(entry.session?.id == SessionID("s2"))
  }

  @Test func `hears of no other account's changes`() async throws {
    let (ada, bob) = (home.vault("ada"), home.vault("bob"))
    _ = await ada.edit(.begin(VaultSamples.session()))
    var bobs = bob.changes().makeAsyncIterator()
    var adas = ada.changes().makeAsyncIterator()
    _ = await ada.edit(.touch(SessionID("s1"), at: VaultSamples.moment(2)))
    await adas.next()
    // Had the other one been told too, it would see nothing yet.
    let write = Task {
      await adas.next()
      return await bob.edit(.begin(VaultSamples.session("s2")))
    }
    let seen = Task {
      await bobs.next()
      return await bob.read()
    }
    _ = await ada.edit(.touch(SessionID("s1"), at: VaultSamples.moment(3)))
    guard case .done(let entry) = await write.value else { throw Unexpected() }
    #expect(await seen.value == .value(entry))
  }
}
