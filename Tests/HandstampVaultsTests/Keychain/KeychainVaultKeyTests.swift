import HandstampCore
import HandstampTesting
import HandstampVaults
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A vault key in the keychain` {
  private let device = EmulatedKeychain.Device()
  private let secret = Secret(bytes: [UInt8](0..<32)[...])

  private func key(_ name: String = "handstamp-1") -> KeychainVaultKey {
    KeychainVaultKey(EmulatedKeychain(device), name: name)
  }

  @Test func `is stored once under its name, returned, and removed`() async throws {
    #expect(try await key().load() == nil)
    try await key().store(secret)
    #expect(try await key().load() == secret)
    #expect(try await key("handstamp-2").load() == nil)
    await #expect(throws: VaultError.self, "a key that is there is never replaced") { try await key().store(secret) }
    try await key().remove()
    try await key().remove()
    #expect(try await key().load() == nil && device.items.isEmpty)
  }

  @Test func `is locked with the keychain, and never taken for absent`() async throws {
    try await key().store(secret)
    device.set(.beforeFirstUnlock)
    await #expect(throws: VaultError.locked) { _ = try await key().load() }
    device.set(.unlocked)
    #expect(try await key().load() == secret)
  }

  @Test func `moves there from the file, and back`() async throws {
    let phone = try Phone()
    let place = VaultKeyPlace(folder: phone.folder.vaults)
    #expect(try await place.makeFile())
    #expect(try await !place.makeFile())
    try await place.move(to: key(), noting: "keychain handstamp-1")
    #expect(try place.note() == "keychain handstamp-1")
    await #expect(throws: VaultError.self, "another key must not be made") { _ = try await place.makeFile() }
    try await place.moveBack(from: key())
    #expect(try place.note() == nil && device.items.count == 1)
    #expect(try await !place.makeFile())
  }
}
