import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `A sign-in by face or fingerprint` {
  private let device = EmulatedKeychain.Device()
  private let vault = MemoryVault()

  private func biometric() -> BiometricSecret {
    BiometricSecret(EmulatedKeychain(device), service: "test", account: AccountID("ada"), access: .owner)
  }

  private func session(_ log: ListAuditLog? = nil) -> SessionManager<Int> {
    SessionManager(
      backend: ScriptedBackend.rotating(), vault: vault, baseURL: base,
      transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: ManualClock(), audit: log
    ) { _ in 0 }
  }

  @Test func `is stored before it is published, like any other sign-in`() async throws {
    let biometric = biometric()
    try await biometric.store(Secret("correct horse"))
    let session = session()
    let seen = Locked<[Bool]>([])
    let watching = Task { [vault] in
      for await state in session.states where state.isSignedIn {
        let reading = await vault.read()
        let isStored = if case .value(let entry) = reading { entry.session != nil } else { false }
        seen.withLock { $0.append(isStored) }
        return
      }
    }
    try await session.signIn(with: biometric, reason: "to sign you in") { secret in
      #expect(secret == Secret("correct horse"))
      return .sample(0)
    }
    await watching.value
    #expect(session.currentUser?.name == "Ada" && seen.withLock { $0 } == [true])
    #expect(device.reasons == ["to sign you in"])
  }

  @Test func `that was declined leaves everything usable`() async throws {
    let biometric = biometric()
    try await biometric.store(Secret("correct horse"))
    device.answer(.userCanceled)
    let session = session()
    await #expect(throws: SessionError.presence(.declined)) {
      try await session.signIn(with: biometric, reason: "why") { _ in .sample(0) }
    }
    #expect(!session.isAuthenticated && !session.snapshot.isWorking)
    device.answer(.success)
    try await session.signIn(with: biometric, reason: "why") { _ in .sample(0) }
    #expect(session.isAuthenticated)
  }

  @Test func `is in the audit log as such, whatever the secret is exchanged by`() async throws {
    let biometric = biometric()
    try await biometric.store(Secret("correct horse"))
    let log = ListAuditLog()
    let session = session(log)
    device.answer(.userCanceled)
    _ = try? await session.signIn(with: biometric, reason: "why") { _ in .sample(0) }
    device.answer(.success)
    try await session.signIn(with: biometric, reason: "why") { _ in
      try await SignInTurn.take(by: .password, as: "ada@example.org")
      return .sample(0)
    }
    await session.controller.flushAuditLog()
    #expect(log.signIns == ["biometric presence_declined -", "biometric ok ada"])
  }

  @Test func `without a stored secret fails with that reason`() async throws {
    let session = session()
    await #expect(throws: SessionError.presence(.noSecret)) {
      try await session.signIn(with: biometric(), reason: "why") { _ in .sample(0) }
    }
    #expect(await vault.read() == .absent && device.reasons.isEmpty)
  }
}
