import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `A push token` {
  private let suite = "handstamp-test-\(UUID().uuidString)"
  private let desk = Desk()

  /// What the device remembers, as the program finds it at a launch.
  private func tokens() throws -> PushTokens { PushTokens(try #require(UserDefaults(suiteName: suite))) }

  private func forget() { UserDefaults.standard.removePersistentDomain(forName: suite) }

  private func manager(_ tokens: PushTokens, _ vault: MemoryVault = MemoryVault()) -> SessionManager<Void> {
    let session = SessionManager(
      backend: desk, vault: vault, baseURL: base, transport: StubTransport { _ in .init(status: 200) }, policy: quiet,
      clock: ManualClock())
    session.push.tokens = tokens
    return session
  }

  private var sent: [String] { desk.calls.filter { $0.hasPrefix("push ") } }

  private func sends(_ count: Int) async { await othersFirst { sent.count >= count } }

  @Test func `is sent with each new session, at a sign-in, an upgrade and a launch`() async throws {
    defer { forget() }
    let vault = MemoryVault()
    let session = manager(try tokens(), vault)
    try await session.registerPushToken(Data([0x0a, 0xff]))
    #expect(sent.isEmpty)
    try await session.signInAnonymously()
    await sends(1)
    try await session.upgrade(by: .password(email: "a@example.org", password: Secret("p"), username: "ada"))
    await sends(2)
    let relaunched = manager(try tokens(), vault)
    await sends(3)
    #expect(sent == ["push 0aff access-guest-0", "push 0aff access-full-0", "push 0aff access-full-0"])
    // The server has it.
    try await relaunched.registerPushToken(Data([0x0a, 0xff]))
    await relaunched.retryPendingWork()
    await othersFirst()
    #expect(sent.count == 3)
    try await relaunched.registerPushToken(Data([1]))
    #expect(sent.last == "push 01 access-full-0")
  }

  @Test func `that could not be sent is sent again with the pending work`() async throws {
    defer { forget() }
    let session = manager(try tokens())
    try await session.signInAnonymously()
    desk.fail(with: .requestFailed(.network(.timedOut)))
    await #expect(throws: SessionError.requestFailed(.network(.timedOut))) { @MainActor in
      try await session.registerPushToken(Data([1]))
    }
    #expect(sent.count == 1)
    await session.retryPendingWork()
    await sends(2)
    desk.fail(with: nil)
    // The failure is noted after the request.
    await othersFirst {
      await session.retryPendingWork()
      return sent.count == 3
    }
    await session.retryPendingWork()
    await othersFirst()
    #expect(sent == Array(repeating: "push 01 access-guest-0", count: 3))
  }

  @Test func `that was unregistered without a network is unregistered at the next launch`() async throws {
    defer { forget() }
    let vault = MemoryVault()
    let session = manager(try tokens(), vault)
    try await session.registerPushToken(nil)
    try await session.signInAnonymously()
    try await session.registerPushToken(Data([1]))
    desk.fail(with: .requestFailed(.network(.timedOut)))
    try? await session.registerPushToken(nil)
    desk.fail(with: nil)
    let relaunched = manager(try tokens(), vault)
    await sends(3)
    #expect(sent == ["push 01 access-guest-0", "push - access-guest-0", "push - access-guest-0"])
    withExtendedLifetime(relaunched) {}
  }

  @Test func `is sent for each account of the device`() async throws {
    defer { forget() }
    let tokens = try tokens()
    let (guest, ada) = (manager(tokens), manager(tokens))
    try await guest.signInAnonymously()
    try await ada.signIn(email: "a@example.org", password: "p")
    try await guest.registerPushToken(Data([1]))
    await sends(2)
    #expect(sent.sorted() == ["push 01 access-guest-0", "push 01 access-in-0"])
    // Still the device's after a sign-out.
    await ada.signOut()
    try await ada.signIn(email: "a@example.org", password: "p")
    await sends(3)
    #expect(sent.last == "push 01 access-in-0")
  }

  @Test func `is refused, and not remembered, where there are no accounts`() async throws {
    defer { forget() }
    let session = SessionManager(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), baseURL: base,
      transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: ManualClock())
    let tokens = try tokens()
    session.push.tokens = tokens
    await #expect(throws: SessionError.unsupported("account functions")) { @MainActor in
      try await session.registerPushToken(Data([1]))
    }
    #expect(tokens.token == nil)
  }
}
