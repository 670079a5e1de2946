import HandstampCore
import HandstampTesting
import HandstampVaults
import Testing

@Suite struct `A secret behind a face or a finger` {
  private let device = EmulatedKeychain.Device()

  private func secret(
    _ account: String = "ada", access: BiometricSecret.Access = .whoIsEnrolledNow
  ) -> BiometricSecret {
    BiometricSecret(
      EmulatedKeychain(device), service: "org.example.forum", account: AccountID(account), access: access)
  }

  @Test func `is handed out to a person who is there, at the strictest level`() async throws {
    let biometric = secret()
    #expect(await !biometric.isStored())
    #expect(try await biometric.secret("why") == nil)
    try await biometric.store(Secret("one"))
    try await biometric.store(Secret("two"))
    #expect(await biometric.isStored())
    #expect(device.reasons.isEmpty)
    #expect(try await biometric.secret("to sign you in") == Secret("two"))
    #expect(device.reasons == ["to sign you in"])
    #expect(device.items.map(\.accessibility) == [.whenPasscodeSetThisDeviceOnly])
    #expect(try await secret("bob").secret("why") == nil)
    try await biometric.remove()
    try await biometric.remove()
    #expect(device.items.isEmpty)
  }

  @Test(arguments: [KeychainStatus.userCanceled, .authFailed])
  func `is not handed out to anybody else`(answer: KeychainStatus) async throws {
    let biometric = secret()
    try await biometric.store(Secret("one"))
    device.answer(answer)
    await #expect(throws: SessionError.presence(.declined)) { try await biometric.secret("why") }
    #expect(await biometric.isStored())
  }

  @Test func `becomes useless with another face, unless it was for the device's owner`() async throws {
    try await secret().store(Secret("one"))
    device.enrol()
    #expect(try await secret().secret("why") == nil)
    try await secret("bob", access: .owner).store(Secret("two"))
    device.enrol()
    #expect(try await secret("bob", access: .owner).secret("why") == Secret("two"))
  }

  @Test func `is gone with the passcode, and cannot be stored without one`() async throws {
    try await secret().store(Secret("one"))
    device.removePasscode()
    #expect(try await secret().secret("why") == nil)
    await #expect(throws: VaultTrouble.unavailable("there is no keychain")) { try await secret().store(Secret("one")) }
  }

  @Test func `is not asked for on a locked device`() async throws {
    try await secret().store(Secret("one"))
    device.set(.locked)
    await #expect(throws: SessionError.storage(.locked)) { try await secret().secret("why") }
    await #expect(throws: VaultTrouble.locked) { try await secret().store(Secret("two")) }
    #expect(device.reasons.isEmpty)
  }
}
