#if Programs
import Foundation
import Handstamp
import HandstampServer
import HandstampSupport
import HandstampTesting
import Testing

private enum AsyncTransports {
  static let one: any Transport = Kind.asyncHTTPClient.patient()
}

/// Loses the responses of requests that begin a session.
private final class LosingSignIns: Transport {
  private let left = Locked(0)
  func lose(_ count: Int) { left.withLock { $0 = count } }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let response = try await AsyncTransports.one.send(request)
    guard ["/v1/sign-in", "/v1/sign-in/anonymous", "/v1/upgrade"].contains(where: request.url.hasSuffix) else {
      return response
    }
    let isLost = left.withLock { left in
      defer { left = max(0, left - 1) }
      return left > 0
    }
    if isLost { throw .timedOut }
    return response
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await AsyncTransports.one.open(request)
  }
}

/// Sign-ins whose responses are lost, with the shipped client and server.
@Suite(.timeLimit(.minutes(10))) struct `A sign-in whose response is lost` {
  /// A client of one device, whose network loses what the test says.
  @MainActor private struct Fixture {
    let server: RealServer
    let vault = MemoryVault()
    let network = LosingSignIns()
    let clock = ManualClock(SystemClock().now())
    let session: SessionManager<Void>
    private let pump: Task<Void, Never>

    init(_ server: RealServer, vault: MemoryVault? = nil) {
      self.server = server
      let backend = ServerBackend(
        baseURL: server.url, device: .init(id: DeviceID("phone"), name: "phone"), transport: network)
      session = SessionManager(
        backend: backend, vault: vault ?? self.vault, baseURL: server.url, transport: AsyncTransports.one,
        policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false)), clock: clock
      ) { _ in }
      // Lets the pauses before repeats pass.
      pump = Task { [clock] in
        while !Task.isCancelled {
          await clock.sleepers(1)
          clock.advance(by: .seconds(5))
        }
      }
    }

    func stop() { pump.cancel() }

    /// How many sessions the server shows to another device.
    func shown() async throws -> Int {
      let backend = server.backend(.asyncHTTPClient, device: "viewer")
      let token = try await backend.signIn(email: "ada@example.org", password: password).accessToken
      let request = TransportRequest(method: "GET", url: server.url.absoluteString + "/v1/sessions").authorized(
        by: token)
      let answer = try await AsyncTransports.one.send(request)
      let list = try JSONDecoder().decode(List.self, from: Data(answer.body))
      return list.sessions.count { $0.device.name == "phone" }
    }

    private struct List: Decodable {
      struct Entry: Decodable { var device: Device }
      struct Device: Decodable { var name: String }
      var sessions: [Entry]
    }
  }

  private func signUp(_ server: RealServer) async throws {
    _ = try await server.backend(.asyncHTTPClient, device: "first").signUp(
      email: "ada@example.org", password: password, username: "Ada")
  }

  @Test @MainActor func `is repeated, and leaves one session`() async throws {
    try await RealServer.run { server in
      try await signUp(server)
      let fixture = Fixture(server)
      defer { fixture.stop() }
      fixture.network.lose(2)
      try await fixture.session.signIn(email: "ada@example.org", password: "correct horse battery")
      _ = try await fixture.session.token()
      #expect(try await fixture.shown() == 1)
    }
  }

  @Test @MainActor func `signs nobody out who was signed in, and a later attempt gets the same session`() async throws {
    try await RealServer.run { server in
      try await signUp(server)
      let fixture = Fixture(server)
      defer { fixture.stop() }
      try await fixture.session.signIn(email: "ada@example.org", password: "correct horse battery")
      let previous = try #require(fixture.session.snapshot.session.value ?? nil)
      fixture.network.lose(4)
      await #expect(throws: SessionError.self) {
        try await fixture.session.signIn(email: "ada@example.org", password: "correct horse battery")
      }
      // Still signed in, here and there.
      #expect(fixture.session.isAuthenticated)
      let token = try await fixture.session.token()
      let request = TransportRequest(method: "GET", url: server.url.absoluteString + "/v1/me").authorized(by: token)
      #expect(try await AsyncTransports.one.send(request).status == 200)
      guard case .value(let entry) = await fixture.vault.read(), let key = entry.signIn?.key else {
        Issue.record("the key is not in the vault")
        return
      }
      // The next launch.
      let next = Fixture(server, vault: fixture.vault)
      defer { next.stop() }
      _ = await next.session.restoreSession()
      try await next.session.signIn(email: "ada@example.org", password: "correct horse battery")
      let new = try #require(next.session.snapshot.session.value ?? nil)
      #expect(new.id != previous.id)
      guard case .value(let after) = await fixture.vault.read() else { throw CancellationError() }
      #expect(after.signIn == nil)
      #expect(key.secret.count == RotationKey.byteCount)
      // Its first use.
      let fresh = try await next.session.token()
      let used = TransportRequest(method: "GET", url: server.url.absoluteString + "/v1/me").authorized(by: fresh)
      #expect(try await AsyncTransports.one.send(used).status == 200)
      #expect(try await next.shown() == 1)
    }
  }

  @Test @MainActor func `leaves a guest a guest until its upgrade arrives`() async throws {
    try await RealServer.run { server in
      let fixture = Fixture(server)
      defer { fixture.stop() }
      fixture.network.lose(1)
      try await fixture.session.signInAnonymously()
      let guest = try #require(fixture.session.currentUser)
      fixture.network.lose(4)
      await #expect(throws: SessionError.self) {
        try await fixture.session.upgrade(
          by: .password(email: "ada@example.org", password: Secret("correct horse battery"), username: "Ada"))
      }
      #expect(fixture.session.currentUser?.id == guest.id)
      fixture.clock.advance(by: .seconds(60))
      // A guest's session goes on: its refresh is accepted.
      try await fixture.session.controller.refreshIfNeeded(minimumValidity: .seconds(400))
      try await fixture.session.upgrade(
        by: .password(email: "ada@example.org", password: Secret("correct horse battery"), username: "Ada"))
      #expect(fixture.session.currentUser?.id == guest.id)
      #expect(fixture.session.isAnonymous == false)
      #expect(try await fixture.shown() == 1)
    }
  }

  @Test @MainActor func `with a wrong password leaves no key behind`() async throws {
    try await RealServer.run { server in
      try await signUp(server)
      let fixture = Fixture(server)
      defer { fixture.stop() }
      await #expect(throws: SessionError.self) {
        try await fixture.session.signIn(email: "ada@example.org", password: "wrong")
      }
      #expect(await fixture.vault.read() == .absent)
    }
  }
}
#endif
