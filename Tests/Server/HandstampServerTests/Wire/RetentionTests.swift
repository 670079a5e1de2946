#if Programs
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A session that ended long ago` {
  @Test func `is forgotten, and its tokens are still refused`() async throws {
    let day = Duration.seconds(86_400)
    let limits = RegistryLimits(absoluteLimit: nil, idleLimit: day * 40, retention: day * 30)
    try await TestServer.run(limits: limits) { test in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      #expect(try await test.client.send("POST", "/v1/sign-out", token: phone.access).status == 204)
      test.clock.advance(by: day * 30 + .milliseconds(1))
      await Sweeper(server: test.server).sweep()
      // The events are gone; the session would not have expired yet, so an old token still gets its reason.
      #expect(test.metrics.pruned == 3)
      #expect(try await test.events().isEmpty)
      #expect(try await test.refresh(phone.refresh, key: .fresh).json["reason"] == "signed_out")
      #expect(try await test.refresh(laptop.refresh, key: .fresh).status == 200)
      test.clock.advance(by: day * 10)
      await Sweeper(server: test.server).sweep()
      #expect(try await test.store.session(SessionID(phone.id)) == nil)
      let refused = try await test.refresh(phone.refresh, key: .fresh)
      #expect(refused.status == 400)
      #expect(refused.json["error"] == "invalid_grant")
      #expect(refused.json["reason"] == "rejected")
      #expect(try await test.store.session(SessionID(laptop.id))?.end == nil)
    }
  }
}
#endif
