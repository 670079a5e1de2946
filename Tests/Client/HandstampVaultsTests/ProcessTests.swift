import Foundation
import Handstamp
import HandstampTesting
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct `A vault that many processes share` {
  let home: NewFolder

  init() throws { home = try NewFolder() }

  @Test func `loses no edit of twenty concurrent processes`() async throws {
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

  @Test func `keeps every sign-in of twenty processes, and one key, from the start`() async throws {
    let children = try (0..<20).map { try Child(home.vaults, "begin", "s\($0)") }
    for child in children {
      let text = try await child.end()
      #expect(text.hasPrefix("done "), "\(text)")
    }
    guard case .value(let entry) = await home.vault().read() else { throw Unexpected() }
    #expect(entry.tombstones.count == 19)
    #expect(entry.revision == 20)
  }

  @Test func `keeps the rotation key of the first of twenty processes`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    let children = try (0..<20).map { try Child(home.vaults, "prepare", "s1", "\($0)") }
    for child in children { #expect(try await child.end().hasPrefix("done 2 s1")) }
    guard case .value(let entry) = await vault.read() else { throw Unexpected() }
    #expect(entry.session?.pendingKey != nil)
  }

  @Test func `recovers the refresh lock from a killed process`() async throws {
    let vault = home.vault()
    let child = try Child(home.vaults, "hold")
    #expect(await child.wait(for: "held"))
    #expect((try? await vault.lock(.refresh, within: .milliseconds(50))) == nil)
    do {
      _ = try await vault.lock(.refresh, within: .zero)
      Issue.record("two processes hold the refresh lock")
    } catch {
      #expect(error == .unavailable("the refresh lock is held by process \(child.id) (VaultProbe)"))
    }
    let waiter = Task { (try? await vault.lock(.refresh, within: .seconds(600))) != nil }
    await child.kill()
    #expect(await waiter.value)
  }

  @Test func `acquires the refresh lock when a process releases it`() async throws {
    let child = try Child(home.vaults, "hold")
    #expect(await child.wait(for: "held"))
    let waiter = Task { (try? await home.vault().lock(.refresh, within: .seconds(600))) != nil }
    #expect(try await child.end().contains("let go"))
    #expect(await waiter.value)
  }

  @Test func `times out on an edit while a stopped process holds the lock, but still reads`()
    async throws
  {
    _ = await home.vault().edit(.begin(VaultSamples.session()))
    let child = try Child(home.vaults, "begin", "s2", environment: ["VAULT_PROBE_STOP": "locked"])
    #expect(await child.stops())
    let hasty = SealedFileVault(folder: home.vaults, account: AccountID("ada"), patience: .milliseconds(50))
    let edit = VaultEdit.touch(SessionID("s1"), at: VaultSamples.moment(3))
    #expect(await hasty.edit(edit) == .failed(.unavailable("another process keeps the vault locked")))
    guard case .value(let entry) = await hasty.read() else { throw Unexpected() }
    #expect(entry.session?.id == SessionID("s1"))
    child.resume()
    #expect(try await child.end().hasSuffix("done 2 s2 [\"s1\"]"))
    guard case .conflict = await hasty.edit(edit) else { throw Unexpected() }
  }

  @Test func `is notified of another process's sign-in, sign-out and key`() async throws {
    let vault = home.vault()
    // The folder does not exist yet.
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

  @Test func `is unavailable while its folder is away, is not recreated, and comes back unchanged`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    var changes = vault.changes().makeAsyncIterator()
    for away in [home.vaults + "-away", "\(home.path)/elsewhere"] {
      // First the folder itself is renamed, then its parent.
      let from = away.hasSuffix("-away") ? home.vaults : "\(home.path)/state"
      try FileManager.default.moveItem(atPath: from, toPath: away)
      #expect(await vault.read() == .trouble(Self.vanished))
      #expect(await vault.edit(.touch(SessionID("s1"), at: VaultSamples.moment(1))) == .failed(Self.vanished))
      #expect(await vault.edit(.begin(VaultSamples.session("s2"))) == .failed(Self.vanished))
      #expect(await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(1))) == .failed(Self.vanished))
      await #expect(throws: Self.vanished) { try await vault.lock(.refresh, within: .zero) }
      #expect(!FileManager.default.fileExists(atPath: from))
      try FileManager.default.moveItem(atPath: away, toPath: from)
      guard case .value(let entry) = await vault.read() else { throw Unexpected() }
      #expect(entry.session?.id == SessionID("s1"))
    }
    await changes.next()
    _ = try await Child(home.vaults, "begin", "s2").end()
    await changes.next()
  }

  @Test func `stores the response to a request in flight wherever its folder is, and whatever became of the key`()
    async throws
  {
    let vault = home.vault()
    let session = VaultSamples.session()
    _ = await vault.edit(.begin(session))
    let lock = try await vault.lock(.refresh, within: .zero)
    try FileManager.default.moveItem(atPath: home.path + "/state", toPath: home.path + "/away")
    try FileManager.default.moveItem(atPath: home.path + "/away/vault/vault.key", toPath: home.path + "/key")
    guard case .done = await vault.edit(.touch(session.id, at: VaultSamples.moment(1))) else { throw Unexpected() }
    lock.unlock()
    // From now on it is known to be away.
    #expect(await vault.read() == .trouble(Self.vanished))
    #expect(!FileManager.default.fileExists(atPath: home.path + "/state"))
    try FileManager.default.moveItem(atPath: home.path + "/key", toPath: home.path + "/away/vault/vault.key")
    let moved = SealedFileVault(folder: home.path + "/away/vault", account: vault.account)
    guard case .value(let entry) = await moved.read() else { throw Unexpected() }
    #expect(entry.session?.activeAt == VaultSamples.moment(1))
  }

  @Test func `does not take a folder that was removed during a request for an empty one`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    let lock = try await vault.lock(.refresh, within: .zero)
    try FileManager.default.removeItem(atPath: home.vaults)
    #expect(await vault.read() == .trouble(Self.vanished))
    #expect(await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(1))) == .failed(Self.vanished))
    lock.unlock()
  }

  @Test func `is unavailable if its folder was replaced by an empty one`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    try FileManager.default.moveItem(atPath: home.vaults, toPath: "\(home.path)/away")
    try FileManager.default.createDirectory(
      atPath: home.vaults, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    #expect(await vault.read() == .trouble(Self.vanished))
    #expect(await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(1))) == .failed(Self.vanished))
    #expect(home.names().isEmpty)
    // Another process, unaware of the previous folder, uses the new one, and its write is seen.
    _ = try await Child(home.vaults, "begin", "s2").end()
    guard case .value(let entry) = await vault.read() else { throw Unexpected() }
    #expect(entry.session?.id == SessionID("s2"))
  }

  @Test func `is unavailable if another account's folder is in its place, even after locking there`()
    async throws
  {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    try FileManager.default.moveItem(atPath: home.vaults, toPath: "\(home.path)/away")
    _ = await home.vault("bob").edit(.begin(VaultSamples.session("s2")))
    #expect(await vault.read() == .trouble(Self.vanished))
    try? await vault.lock(.refresh, within: .zero).unlock()
    #expect(await vault.read() == .trouble(Self.vanished))
    // An ended session leaves a trace that identifies an empty vault as the right one.
    _ = await home.vault().edit(.begin(VaultSamples.session("s3")))
    _ = await home.vault().edit(.signOut(.signedOut, at: VaultSamples.moment(1)))
    _ = await home.vault().edit(.delivered(SessionID("s3")))
    guard case .value(let entry) = await vault.read() else { throw Unexpected() }
    #expect(entry.session == nil)
  }

  @Test func `is recreated at a sign-in if nothing was stored`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(VaultSamples.session()))
    try home.remove(try #require(home.names(ending: ".vault").first))
    #expect(await vault.read() == .absent)
    try home.remove("")
    #expect(await vault.read() == .absent)
    guard case .done = await vault.edit(.begin(VaultSamples.session("s2"))) else { throw Unexpected() }
  }

  @Test func `is not created by reading`() async throws {
    let vault = home.vault()
    #expect(await vault.read() == .absent)
    #expect(await vault.edit(.signOut(.signedOut, at: VaultSamples.moment(1))) == .done(VaultEntry()))
    #expect(await vault.edit(.touch(SessionID("s1"), at: VaultSamples.moment(1))) == .conflict(VaultEntry()))
    #expect(!FileManager.default.fileExists(atPath: home.vaults))
  }

  private static let vanished = VaultError.unavailable("the vault folder is missing; is its disk mounted?")

  @Test func `is notified of changes again after its folder was removed and recreated`() async throws {
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

  @Test func `is not notified of another account's changes`() async throws {
    let (ada, bob) = (home.vault("ada"), home.vault("bob"))
    _ = await ada.edit(.begin(VaultSamples.session()))
    let (adas, bobs) = (ada.changes(), bob.changes())
    let heard = Task {
      var count = 0
      for await _ in bobs {
        count += 1
        // The write is complete before its notification.
        if await bob.read() != .absent { break }
      }
      return count
    }
    var changes = adas.makeAsyncIterator()
    // A wrong notification would come with each of these writes; only all of them together could coincide with the right one.
    for number in 0..<50 as Range<Int64> {
      _ = await ada.edit(.touch(SessionID("s1"), at: VaultSamples.moment(number)))
      await changes.next()
    }
    _ = await bob.edit(.begin(VaultSamples.session("s2")))
    #expect(await heard.value == 1)
  }
}
