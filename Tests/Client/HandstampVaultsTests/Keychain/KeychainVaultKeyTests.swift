import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A vault key in the keychain` {
  private let device = EmulatedKeychain.Device()
  private let secret = Secret(bytes: [UInt8](0..<32)[...])

  private func key(_ name: String = "handstamp-1") -> KeychainVaultKey {
    KeychainVaultKey(EmulatedKeychain(device), name: name)
  }

  @Test func `is stored once under its name, and returned`() async throws {
    #expect(try await key().load() == nil)
    try await key().store(secret)
    #expect(try await key().load() == secret)
    #expect(try await key("handstamp-2").load() == nil)
    await #expect(throws: VaultError.self, "a key that is there is never replaced") { try await key().store(secret) }
  }

  @Test func `is locked with the keychain, and never taken for absent`() async throws {
    try await key().store(secret)
    device.set(.beforeFirstUnlock)
    await #expect(throws: VaultError.locked) { _ = try await key().load() }
    device.set(.unlocked)
    #expect(try await key().load() == secret)
  }

  @Test func `is not made beside a key elsewhere`() async throws {
    let phone = try Phone()
    let place = VaultKeyPlace(folder: phone.folder.vaults) { [key] _ in key("handstamp-1") }
    #expect(try await place.makeFile())
    #expect(try await !place.makeFile())
    #expect(try await place.move(to: "keychain handstamp-1") == nil)
    await #expect(throws: VaultError.self, "another key must not be made") { _ = try await place.makeFile() }
    #expect(try await place.move(to: "file") == nil && device.items.isEmpty)
    #expect(try await !place.makeFile())
  }
}
