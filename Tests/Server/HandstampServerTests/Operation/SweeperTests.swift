#if Programs
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The sweeper` {
  /// A registry whose key the server does not have.
  private func stranger(at store: FaultyStore) throws -> Registry {
    var random = SystemRandomNumberGenerator()
    return Registry(store: store, mint: TokenMint(try MasterKeys(drawing: KeyID("k9"), from: &random)))
  }

  @Test func `ends and deletes what is over, whatever else cannot be done, and says what that is`() async throws {
    let day = Duration.seconds(86_400)
    let limits = RegistryLimits(absoluteLimit: day, idleLimit: nil, retention: day)
    try await TestServer.run(limits: limits) { test in
      let session = try await test.signUp()
      let stranger = try stranger(at: test.store)
      try await stranger.noteKeyUse(now: test.clock.now)
      let record = try #require(try await test.store.account(AccountID(session.account)))
      let moving = MovingTOTP(try #require(TOTPSecret(text: Secret("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"))))
      var arriving = ArrivingAccount(
        AccountRecord(
          id: AccountID("eve"), email: EmailAddress("eve@example.org"), username: "", passwordHash: record.passwordHash,
          createdAt: test.clock.now), keepsID: true)
      arriving.totp = moving
      #expect(try await stranger.receive([arriving], merging: false, now: test.clock.now) == [.created])
      test.clock.advance(by: day * 8)
      await Sweeper(server: test.server).sweep()
      #expect(try await test.store.session(SessionID(session.id))?.end?.reason == .expired)
      #expect(test.metrics.pruned > 0)
      #expect(test.metrics.backgroundFailures == 1 && test.metrics.missingKeys == 1)
      #expect(test.logs.lines.contains { $0.contains("Background work failed") && $0.contains("seals") })
      #expect(test.logs.lines.contains { $0.contains("Master key missing") && $0.contains("1 authenticator app(s)") })
      #expect(try await test.client.send("GET", "/ready").status == 200, "the others are served")
    }
  }
}
#endif
