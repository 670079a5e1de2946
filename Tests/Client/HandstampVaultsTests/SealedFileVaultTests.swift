import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A sealed file vault` {
  let home: NewFolder
  let session = VaultSamples.session()

  init() throws { home = try NewFolder() }

  @Test func `keeps the promises of a vault`() async throws {
    let folders = Folders()
    try await checkVault {
      try await folders.make().vault()
    } again: {
      SealedFileVault(folder: $0.folder, account: $0.account, patience: .seconds(120))
    }
  }

  @Test func `keeps them with a given key, which leaves no key file`() async throws {
    let folders = Folders()
    let key = VaultKey.raw(Secret(bytes: 0..<32))
    try await checkVault {
      try await folders.make().vault(key: key)
    } again: {
      SealedFileVault(folder: $0.folder, account: $0.account, key: key, patience: .seconds(120))
    }
    for folder in await folders.all { #expect(!folder.names().contains("vault.key")) }
  }

  @Test(arguments: [("org.example.forum", "org.example.forum"), ("../../x", "_.._.._x"), ("", "_"), ("a/b", "a_b")])
  func `of a platform is in one folder with the program's name`(name: String, folder: String) {
    let vault = SealedFileVault.sealedFile(name)
    #expect(vault.folder.hasPrefix("/") && vault.folder.hasSuffix("/\(folder)/vault"))
    #expect(vault.account == AccountID("default"))
  }

  @Test func `is readable by its owner only, and excluded from backups`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(session))
    _ = try? await vault.lock(.refresh, within: .zero)
    #expect(try home.mode("") == 0o700)
    #expect(home.names().count == 7)
    for name in home.names() { #expect(try home.mode(name) == 0o600, "\(name)") }
    let tag = String(decoding: try home.bytes("CACHEDIR.TAG"), as: UTF8.self)
    #expect(tag.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55"))
  }

  @Test func `shows no secret and no name in its files`() async throws {
    _ = await home.vault("ada@example.org").edit(.begin(session))
    for name in home.names() {
      let bytes = String(decoding: try home.bytes(name), as: UTF8.self)
      for word in ["s1-refresh", "access-token", "revocation", "Lovelace", "ada"] {
        #expect(!bytes.contains(word) && !name.contains(word))
      }
    }
  }

  @Test(arguments: ["", "../../etc/passwd", "a/b", "ADA", "ada ", String(repeating: "x", count: 5000), "\u{0}"])
  func `keeps accounts apart, whatever their ids`(account: String) async throws {
    let other = home.vault("ada")
    _ = await other.edit(.begin(VaultSamples.session("other")))
    let vault = home.vault(account)
    #expect(await vault.read() == .absent)
    _ = await vault.edit(.begin(session))
    #expect(home.names(ending: ".vault").count == 2)
    guard case .value(let entry) = await other.read() else { throw Unexpected() }
    #expect(entry.session?.id == SessionID("other"))
  }

  @Test func `gives no account another account's file`() async throws {
    _ = await home.vault("ada").edit(.begin(session))
    let name = try #require(home.names(ending: ".vault").first)
    let file = try home.bytes(name)
    _ = await home.vault("bob").edit(.begin(VaultSamples.session("s2")))
    let other = try #require(home.names(ending: ".vault").first { $0 != name })
    try home.write(file, to: other)
    #expect(await home.vault("bob").read() == .trouble(.corrupt))
    #expect(await home.vault("ada").read() != .trouble(.corrupt))
  }

  @Test func `removes a crashed process's unfinished files at its next write`() async throws {
    let vault = home.vault()
    _ = await vault.edit(.begin(session))
    try home.write(Array("half a vault".utf8), to: "17.partial")
    _ = await vault.edit(.touch(session.id, at: VaultSamples.moment(3)))
    #expect(home.names(ending: ".partial").isEmpty)
  }

  @Test func `does not wait for itself while a task holds the refresh lock`() async throws {
    let vault = home.vault()
    let lock = try? await vault.lock(.refresh, within: .zero)
    #expect(lock != nil)
    guard case .done = await vault.edit(.begin(session)) else { throw Unexpected() }
    lock?.unlock()
  }

  @Test func `finishes an edit whose task was cancelled`() async throws {
    let vault = home.vault()
    let edits = (0..<20).map { number in
      Task { await home.vault().edit(.begin(VaultSamples.session("s\(number)"))) }
    }
    for edit in edits { edit.cancel() }
    for edit in edits {
      guard case .done = await edit.value else { throw Unexpected() }
    }
    guard case .value(let entry) = await vault.read() else { throw Unexpected() }
    #expect(entry.tombstones.count == 19)
  }
}

struct Unexpected: Error {}

/// Folders that live as long as the test.
actor Folders {
  private(set) var all: [NewFolder] = []

  func make() throws -> NewFolder {
    let folder = try NewFolder()
    all.append(folder)
    return folder
  }
}
