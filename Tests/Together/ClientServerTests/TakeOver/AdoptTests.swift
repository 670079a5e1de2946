#if Programs
import Foundation
import Handstamp
import HandstampRegistry
import HandstampServer
import HandstampSupport
import HandstampTesting
import HandstampTransports
import Testing

@Suite(.timeLimit(.minutes(10))) struct `An app that adopts its former session` {
  private struct Unreadable: Error {}

  @MainActor private func session(
    _ server: RealServer, over transport: any Transport, vault: any Vault = MemoryVault()
  ) -> SessionManager<Void> {
    let backend = ServerBackend(
      baseURL: server.url, device: .init(id: DeviceID("phone"), name: "phone"), transport: transport)
    return SessionManager(
      backend: backend, vault: vault, baseURL: server.url, transport: transport,
      policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false)))
  }

  @Test @MainActor func `removes a token that is worth nothing, and no other`() async throws {
    let removals = Locked(0)
    let remove: @Sendable () async throws -> Void = { removals.withLock { $0 += 1 } }
    let network = Kind.asyncHTTPClient.patient()
    // A server that takes over no sessions.
    try await RealServer.run { server async throws in
      let session = session(server, over: network)
      await #expect(throws: SessionError.unsupported("sessions of a former system")) {
        try await session.adopt(from: { Secret("r1") }, removing: remove)
      }
    }
    try await RealServer.run {
      $0.former = FormerSystem()
    } body: { server async throws in
      let session = session(server, over: network)
      #expect(try await session.adopt(from: { nil }, removing: remove) == false)
      await #expect(throws: SessionError.self) {
        try await session.adopt(from: { throw Unreadable() }, removing: remove)
      }
      await #expect(throws: SessionError.storage(.locked)) {
        try await session.adopt(from: { throw VaultError.locked }, removing: remove)
      }
      #expect(removals.withLock { $0 } == 0)
      await #expect(throws: SessionError.sessionEnded(.rejected)) {
        try await session.adopt(from: { Secret("r1") }, removing: remove)
      }
      #expect(removals.withLock { $0 } == 1)
      #expect(session.state == .signedOut(nil))
    }
  }

  @Test @MainActor func `keeps the token without an answer, and removes it once the session is stored`() async throws {
    let old = Locked<String?>("r1")
    let read: @Sendable () async throws -> Secret? = { old.withLock { $0.map { Secret($0) } } }
    let vault = MemoryVault()
    try await RealServer.run {
      $0.former = FormerSystem()
    } body: { server async throws in
      let base = Kind.asyncHTTPClient.patient()
      let signedUp = try await server.backend(.asyncHTTPClient, device: "first").signUp(
        email: "ada@example.org", password: password, username: "Ada")
      guard case .signedIn(let tokens) = signedUp, let account = tokens.profile?.id else { throw CancellationError() }
      let lines = [Array(#"{"account":"\#(account)","token":"r1","auth_time":2000000000}"#.utf8)]
      _ = try await Administration(server.server.registry, by: .server()).importFormer(lines)
      let down = LossyTransport(base, odds: .init(requestLost: 1))
      await #expect(throws: SessionError.self) {
        try await session(server, over: down, vault: vault).adopt(from: read, removing: { old.withLock { $0 = nil } })
      }
      #expect(old.withLock { $0 } == "r1")
      // The former storage cannot be written: the next launch removes it.
      let first = session(server, over: base, vault: vault)
      #expect(try await first.adopt(from: read, removing: { throw Unreadable() }))
      #expect(first.currentUser?.id == account)
      #expect(old.withLock { $0 } == "r1")
      let next = session(server, over: base, vault: vault)
      #expect(try await next.adopt(from: read, removing: { old.withLock { $0 = nil } }))
      #expect(old.withLock { $0 } == nil)
      #expect(next.currentUser?.id == account)
    }
  }
}
#endif
