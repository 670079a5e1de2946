import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A list of accounts in a file` {
  let home: NewFolder

  init() throws { home = try NewFolder() }

  var store: FileAccountsStore { FileAccountsStore(folder: home.vaults) }

  func record(_ id: String) -> ListedAccount {
    ListedAccount(id: AccountID(id), name: id, tag: "tag-\(id)", server: "s", addedAt: UnixTime(seconds: 5))
  }

  @Test func `is empty before the first write, and creates no file`() async throws {
    #expect(try await store.read().get() == AccountsList())
    #expect(home.names().isEmpty)
  }

  @Test func `round-trips through a file for its owner only, beside the vaults`() async throws {
    _ = await home.vault().edit(.begin(VaultSamples.session()))
    let written = try await store.edit(.add(record("ada"))).get()
    #expect(try await store.read().get() == written)
    #expect(try home.mode("accounts.json") == 0o600)
    _ = await home.vault().edit(.signOut(.signedOut, at: VaultSamples.moment(3)))
    #expect(try await store.read().get() == written)
  }

  @Test func `loses no account of twenty concurrent processes`() async throws {
    let children = try (0..<20).map { try Child(home.vaults, "account", "a\($0)") }
    for child in children { #expect(try await child.end().hasPrefix("accounts ")) }
    let list = try await store.read().get()
    #expect(Set(list.accounts.map(\.id)) == Set((0..<20).map { AccountID("a\($0)") }))
    #expect(list.active == list.accounts.first?.id)
  }

  @Test func `notifies other processes of a switch`() async throws {
    _ = await store.edit(.add(record("ada")))
    _ = await store.edit(.add(record("bob")))
    var changes = store.changes().makeAsyncIterator()
    let child = try Child(home.vaults, "activate", "bob")
    await changes.next()
    #expect(try await child.end().hasPrefix("accounts "))
    #expect(try await store.read().get().active == AccountID("bob"))
  }

  @Test func `is set aside if it is damaged, and never lost`() async throws {
    _ = await store.edit(.add(record("ada")))
    let bytes = try home.bytes("accounts.json")
    for broken in [[], Array(bytes.dropLast(3)), Array("{}".utf8), Array("[1]".utf8), [0xff, 0xfe]] {
      try home.write(broken, to: "accounts.json")
      #expect(await store.read() == .failure(.corrupt))
      #expect(try home.bytes("accounts.json") == broken)
    }
    #expect(try await store.edit(.add(record("bob"))).get().accounts.map(\.id) == [AccountID("bob")])
    #expect(try home.bytes("accounts.json.corrupt-1") == [0xff, 0xfe])
  }

  @Test func `of a newer version is left unchanged`() async throws {
    _ = await store.edit(.add(record("ada")))
    let newer = Array(#"{"version":2,"accounts":{}}"#.utf8)
    try home.write(newer, to: "accounts.json")
    guard case .failure(.newerFormat) = await store.edit(.add(record("bob"))) else { throw Unexpected() }
    #expect(try home.bytes("accounts.json") == newer)
  }
}
