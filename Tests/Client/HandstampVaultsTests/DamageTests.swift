import Foundation
import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A damaged vault` {
  let home: NewFolder
  let vault: SealedFileVault
  let session = VaultSamples.session()
  let name: String
  let whole: [UInt8]

  init() async throws {
    home = try NewFolder()
    vault = home.vault()
    _ = await vault.edit(.begin(session))
    name = try #require(home.names(ending: ".vault").first)
    whole = try home.bytes(name)
  }

  @Test func `is corrupt if it is truncated at any length`() async throws {
    for length in 0..<whole.count {
      try home.write(Array(whole[..<length]), to: name)
      let reading = await vault.read()
      #expect(reading == .trouble(.corrupt), "cut to \(length)")
    }
  }

  @Test func `is corrupt whichever bit is flipped`() async throws {
    for bit in 0..<whole.count * 8 {
      var bytes = whole
      bytes[bit / 8] ^= 1 << (bit % 8)
      try home.write(bytes, to: name)
      let reading = await vault.read()
      #expect(reading == .trouble(.corrupt), "bit \(bit)")
    }
  }

  @Test func `is corrupt with trailing bytes, or if it is much too large`() async throws {
    try home.write(whole + [0], to: name)
    #expect(await vault.read() == .trouble(.corrupt))
    try home.write(whole + [UInt8](repeating: 0, count: 9 << 20), to: name)
    #expect(await vault.read() == .trouble(.corrupt))
  }

  @Test(arguments: [[], Array("HSTVAULT".utf8), Array("{\"session\":1}".utf8), [UInt8](repeating: 0, count: 4096)])
  func `is corrupt, and changed only by a sign-in or a sign-out`(bytes: [UInt8]) async throws {
    try home.write(bytes, to: name)
    let token = try #require(session.refresh)
    let key = try #require(VaultSamples.key(1))
    let edits: [VaultEdit] = [
      .prepare(session.id, holding: token, key: key),
      .advance(session.id, VaultSamples.refreshed(token, to: token)),
      .end(session.id, holding: nil, reason: .rejected, at: VaultSamples.moment()),
      .delivered(session.id), .touch(session.id, at: VaultSamples.moment()),
    ]
    for edit in edits { #expect(await vault.edit(edit) == .failed(.corrupt)) }
    #expect(try home.bytes(name) == bytes)
  }

  @Test func `is set aside by each sign-in under a name of its own`() async throws {
    for number in 1...3 {
      try home.write([UInt8(number)], to: name)
      guard case .done(let entry) = await vault.edit(.begin(session)) else { throw Unexpected() }
      #expect(entry.session == session)
      #expect(await vault.read() == .value(entry))
    }
    let aside = home.names().filter { $0.contains(".corrupt-") }
    #expect(try aside.map(home.bytes) == [[1], [2], [3]])
  }

  @Test func `keeps its revisions rising after a damaged end`() async throws {
    try home.write(whole.dropLast() + [whole[whole.count - 1] ^ 1], to: name)
    guard case .done(let entry) = await vault.edit(.begin(session)) else { throw Unexpected() }
    #expect(entry.revision == 2)
  }

  @Test func `is removed by a sign-out, with all copies set aside`() async throws {
    try home.write([1], to: name)
    _ = await vault.edit(.begin(session))
    try home.write([2], to: name)
    guard case .done(let entry) = await vault.edit(.signOut(.signedOut, at: VaultSamples.moment())) else {
      throw Unexpected()
    }
    #expect(entry.isEmpty)
    #expect(await vault.read() == .absent)
    #expect(home.names() == ["CACHEDIR.TAG", "store.lock", "turn.lock", "vault.key"])
  }

  @Test func `of another format is unavailable and stays unchanged`() async throws {
    let mark = Array("HSTVAULT".utf8) + [0, 2, 255, 253]
    let other = mark + whole[mark.count...].dropLast(20)
    try home.write(other, to: name)
    try await expectFailure(VaultError.newerFormat, "another version")
    #expect(try home.bytes(name) == other)
  }

  @Test func `without its key file is unavailable, and no new key is created`() async throws {
    try home.remove("vault.key")
    try await expectFailure(VaultError.wrongKey, "missing")
    guard case .failed(.wrongKey(let text)) = await home.vault("bob").edit(.begin(session)) else { throw Unexpected() }
    #expect(text.contains("missing"))
    #expect(home.names(ending: ".key").isEmpty)
    #expect(try home.bytes(name) == whole)
  }

  @Test func `with a foreign key file is unavailable`() async throws {
    let other = try NewFolder()
    _ = await other.vault().edit(.begin(session))
    try home.remove("vault.key")
    try home.write(try other.bytes("vault.key"), to: "vault.key")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: home.vaults + "/vault.key")
    try await expectFailure(VaultError.wrongKey, "belongs to another vault")
    #expect(try home.bytes(name) == whole)
  }

  @Test func `with any flipped bit in its key file is unavailable`() async throws {
    let key = try home.bytes("vault.key")
    for bit in 0..<key.count * 8 {
      var bytes = key
      bytes[bit / 8] ^= 1 << (bit % 8)
      try home.write(bytes, to: "vault.key")
      guard case .trouble(.wrongKey(let text)) = await vault.read() else { throw Unexpected() }
      #expect(text.contains("damaged"), "bit \(bit)")
    }
  }

  @Test(arguments: [0o644, 0o640, 0o604, 0o620, 0o602])
  func `with a key file that others can use is unavailable`(mode: Int) async throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: home.vaults + "/vault.key")
    try await expectFailure(VaultError.permissions, "mode")
  }

  @Test func `in a folder that others may write to is unavailable`() async throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o770], ofItemAtPath: home.vaults)
    try await expectFailure(VaultError.permissions, "mode")
    #expect((try? await vault.lock(.refresh, within: .zero)) == nil)
  }

  @Test func `with a symbolic link, a folder or a pipe in its place is unavailable`() async throws {
    let path = "\(home.vaults)/\(name)"
    try home.remove(name)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
    try await expectFailure(VaultError.unavailable, "symbolic link")
    try home.remove(name)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try await expectFailure(VaultError.unavailable, "not a regular file")
    try home.remove(name)
    #expect(await Child.succeeds("mkfifo", path))
    try await expectFailure(VaultError.unavailable, "not a regular file")
  }

  @Test func `with a given key that is too short is unavailable`() async {
    let short = home.vault(key: .raw(Secret(bytes: 1...31)))
    guard case .trouble(.wrongKey(let text)) = await short.read() else {
      Issue.record("it was read")
      return
    }
    #expect(text.contains("fewer than 32"))
  }

  @Test func `keeps its key in a configured place, and creates it there once`() async throws {
    let path = "\(home.path)/key"
    let first = SealedFileVault(folder: "\(home.path)/a", account: AccountID("ada"), key: .file(path))
    let second = SealedFileVault(folder: "\(home.path)/b", account: AccountID("ada"), key: .file(path))
    for vault in [first, second] {
      guard case .done(let entry) = await vault.edit(.begin(session)) else { throw Unexpected() }
      #expect(await vault.read() == .value(entry))
    }
    try FileManager.default.removeItem(atPath: path)
    guard case .trouble(.wrongKey) = await first.read() else { throw Unexpected() }
    let nowhere = SealedFileVault(folder: "\(home.path)/c", account: AccountID("ada"), key: .file("/nowhere/key"))
    guard case .failed(.unavailable(let why)) = await nowhere.edit(.begin(session)) else { throw Unexpected() }
    #expect(why.contains("folder of the key file"))
  }

  @Test(arguments: ["", "relative/folder"])
  func `in an invalid place is unavailable`(folder: String) async {
    let vault = SealedFileVault(folder: folder, account: AccountID("ada"))
    guard case .trouble(.unavailable) = await vault.read(), case .failed = await vault.edit(.begin(session)) else {
      Issue.record("it was used")
      return
    }
  }

  /// Expects that it can be neither read nor replaced, even by a sign-in or sign-out, and why.
  private func expectFailure(_ error: (String) -> VaultError, _ words: String) async throws {
    guard case .trouble(let found) = await vault.read() else { throw Unexpected() }
    #expect(found.detail.map(error) == found && found.detail?.contains(words) == true, "\(found.code): \(found)")
    for edit in [VaultEdit.begin(session), .signOut(.signedOut, at: VaultSamples.moment())] {
      #expect(await vault.edit(edit) == .failed(found))
    }
    #expect(!home.names().contains { $0.contains("corrupt") })
  }
}
