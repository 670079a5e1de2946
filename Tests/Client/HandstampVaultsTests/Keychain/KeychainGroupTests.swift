import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A keychain vault of several programs` {
  let phone: Phone
  init() throws { phone = try Phone() }
  private let shared = "team.shared"

  @Test func `is shared within an access group`() async throws {
    let app = phone.vault(groups: ["team.app", shared], group: shared)
    let widget = phone.vault(groups: ["team.widget", shared], group: shared)
    let entry = try done(await app.edit(.begin(phone.session)))
    #expect(await widget.read() == .value(entry))
    let left = try done(await widget.edit(.signOut(.signedOut, at: VaultSamples.moment(9))))
    #expect(await app.read() == .value(left))
  }

  @Test func `is hidden from a program of another group`() async throws {
    _ = try done(await phone.vault(groups: ["team.app"]).edit(.begin(phone.session)))
    #expect(await phone.vault(groups: ["team.other"]).read() == .absent)
  }

  /// iOS reports the same status for a moment to a program that is signed.
  @Test func `asks a program that may not be signed for the group to try again`() async throws {
    let vault = phone.vault(groups: ["team.app"], group: shared)
    guard case .failed(let error) = await vault.edit(.begin(phone.session)) else { throw Unexpected() }
    #expect(error.recovery == .retry(after: nil) && error.detail?.contains("-34018") == true)
    #expect(await vault.read() == .trouble(error))
  }

  @Test func `moves to the shared group with the first read, without a sign-out`() async throws {
    let before = try done(await phone.vault(groups: ["team.app"]).edit(.begin(phone.session)))
    let app = phone.vault(groups: ["team.app", shared], group: shared)
    guard case .value(let moved) = await app.read() else { throw Unexpected() }
    #expect(moved.session == before.session && moved.revision == before.revision + 1)
    #expect(phone.refreshItems.map(\.group) == [shared])
    #expect(await phone.vault(groups: ["team.widget", shared], group: shared).read() == .value(moved))
    #expect(await app.read() == .value(moved))
    let after = try done(await app.edit(.touch(phone.session.id, at: VaultSamples.moment(4))))
    #expect(after.revision == moved.revision + 1)
    #expect(phone.refreshItems.map(\.group) == [shared])
    #expect(await phone.vault(groups: ["team.widget", shared], group: shared).read() == .value(after))
  }

  /// A version of the app without the group has signed in anew, and its revisions began anew.
  @Test func `is not hidden by an older end in the shared group`() async throws {
    let app = phone.vault(groups: ["team.app", shared], group: shared)
    for _ in 0..<3 { _ = try done(await app.edit(.begin(phone.session))) }
    _ = try done(await app.edit(.touch(phone.session.id, at: VaultSamples.moment(4))))
    _ = try done(await app.edit(.signOut(.signedOut, at: VaultSamples.moment(9))))
    let older = KeychainVault(
      EmulatedKeychain(phone.device, groups: ["team.app"]), service: "org.example.forum", account: AccountID("ada"),
      folder: phone.folder.path + "/older")
    _ = try done(await older.edit(.begin(VaultSamples.session("s2"))))
    guard case .value(let found) = await app.read() else { throw Unexpected() }
    #expect(found.session?.id == SessionID("s2"))
    #expect(found.tombstone(of: phone.session.id)?.revocation != nil)
    #expect(phone.refreshItems.map(\.group) == [shared])
  }

  @Test func `uses the newest item after an interrupted move`() async throws {
    _ = try done(await phone.vault(groups: ["team.app"]).edit(.begin(phone.session)))
    let app = phone.vault(groups: ["team.app", shared], group: shared)
    let refresh = try #require(phone.refreshItems.first?.key)
    phone.device.intercept { $0 == .delete(refresh) ? .notAvailable : nil }
    let after = try done(await app.edit(.touch(phone.session.id, at: VaultSamples.moment(4))))
    phone.device.intercept(nil)
    #expect(phone.refreshItems.count == 2)
    guard case .value(let found) = await app.read() else { throw Unexpected() }
    #expect(found.session == after.session)
    #expect(phone.refreshItems.map(\.group) == [shared])
    _ = try done(await app.edit(.signOut(.signedOut, at: VaultSamples.moment(9))))
    #expect(phone.refreshItems.map(\.group) == [shared])
  }
}
