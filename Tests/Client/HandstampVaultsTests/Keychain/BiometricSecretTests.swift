import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A secret behind face or fingerprint` {
  private let device = EmulatedKeychain.Device()

  private func secret(
    _ account: String = "ada", access: BiometricSecret.Access = .currentBiometrySet
  ) -> BiometricSecret {
    BiometricSecret(
      EmulatedKeychain(device), service: "org.example.forum", account: AccountID(account), access: access)
  }

  @Test func `is released when presence is confirmed, at the strictest level`() async throws {
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

  /// The user may take minutes, and the pool has as many threads as the device has cores.
  @Test func `waits for the user on no thread of the pool`() async throws {
    let biometric = secret()
    try await biometric.store(Secret("one"))
    let isOfPool = Locked<Bool?>(nil)
    device.intercept { call in
      // Only a thread of the pool runs a task.
      if case .copy = call { isOfPool.withLock { $0 = withUnsafeCurrentTask { $0 != nil } } }
      return nil
    }
    #expect(try await biometric.secret("to sign you in") == Secret("one"))
    #expect(isOfPool.withLock { $0 } == false)
  }

  @Test(arguments: [KeychainStatus.userCanceled, .authFailed])
  func `is not released otherwise`(answer: KeychainStatus) async throws {
    let biometric = secret()
    try await biometric.store(Secret("one"))
    device.answer(answer)
    await #expect(throws: SessionError.presence(.declined)) { try await biometric.secret("why") }
    #expect(await biometric.isStored())
  }

  @Test func `becomes useless after a new enrolment, unless it is for the device's owner`() async throws {
    try await secret().store(Secret("one"))
    device.enrol()
    #expect(try await secret().secret("why") == nil)
    try await secret("bob", access: .owner).store(Secret("two"))
    device.enrol()
    #expect(try await secret("bob", access: .owner).secret("why") == Secret("two"))
  }

  @Test func `is removed with the passcode, and cannot be stored without one`() async throws {
    try await secret().store(Secret("one"))
    device.removePasscode()
    #expect(try await secret().secret("why") == nil)
    await #expect(throws: VaultError.unavailable("no keychain is available")) {
      try await secret().store(Secret("one"))
    }
  }

  @Test func `does not prompt on a locked device`() async throws {
    try await secret().store(Secret("one"))
    device.set(.locked)
    await #expect(throws: SessionError.storage(.locked)) { try await secret().secret("why") }
    await #expect(throws: VaultError.locked) { try await secret().store(Secret("two")) }
    #expect(device.reasons.isEmpty)
  }
}
