import Foundation
import Handstamp
import HandstampTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The session that a view names` {
  private let clock = ManualClock()
  private let vault = MemoryVault()

  private func manager(_ backend: any Backend, steps: [CleanupStep] = []) -> SessionManager<Void> {
    SessionManager(
      backend: backend, vault: vault, baseURL: base, transport: StubTransport { _ in .init(status: 200) },
      policy: quiet, clock: clock, cleanups: steps)
  }

  @Test func `has the account functions of its backend, or says that there are none`() async throws {
    let session = manager(ScriptedBackend.rotating())
    let missing = SessionError.unsupported("account functions")
    await #expect(throws: missing) { @MainActor in try await session.signIn(email: "ada@example.org", password: "a") }
    await #expect(throws: missing) { @MainActor in try await session.resetPassword(email: "ada@example.org") }
    #expect(!session.snapshot.isWorking && session.server == nil)
    try await session.signIn { .sample(0) }
    await #expect(throws: missing) { @MainActor in try await session.deleteAccount() }
    #expect(session.isAuthenticated)
    let report = await session.signOutEverywhere()
    #expect(report.otherSessionsError == missing && !session.isAuthenticated)
  }

  @Test func `has the server's own functions at Handstamp's server`() throws {
    let device = ServerBackend.Device(id: DeviceID("d"), name: "phone")
    let backend = ServerBackend(baseURL: base, device: device, transport: StubTransport { _ in .init(status: 200) })
    #expect(manager(backend).server?.baseURL == base)
  }

  @Test func `shows the state of its snapshot, through all four`() async throws {
    _ = await vault.edit(.begin(VaultSamples.session()))
    let faulty = FaultyVault(vault)
    await faulty.set { $0 = .locked }
    let session = SessionManager(
      backend: ScriptedBackend.rotating(), vault: faulty, baseURL: base,
      transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: clock)
    #expect(session.state == .restoring)
    await session.restoreSession()
    #expect(session.state == .unavailable(.storage(.locked)))
    await faulty.set { $0 = .init() }
    _ = try await session.token()
    await othersFirst { session.isAuthenticated }
    guard case .success(let facts?) = session.snapshot.session else {
      Issue.record("the vault holds a session")
      return
    }
    #expect(session.state == .signedIn(facts))
    _ = await session.signOut()
    #expect(session.state == .signedOut(.signedOut))
  }

  @Test func `authorizes a request, and retries at once`() async throws {
    let session = manager(ScriptedBackend.rotating())
    try await session.signIn { .sample(0) }
    var request = URLRequest(url: base)
    try await session.authorize(&request)
    let token = try await session.token()
    #expect(request.value(forHTTPHeaderField: "Authorization") == token.secret.withExposed { "Bearer " + $0 })
    session.updateSessionActivity()
    await session.retryPendingWork()
    #expect(session.isAuthenticated)
  }

  @Test func `says which scopes of a plan had no step`() async throws {
    let session = manager(ScriptedBackend.rotating(), steps: [CleanupStep("cache", .requestCache) { _ in }])
    try await session.signIn { .sample(0) }
    let report = await session.signOut(.standard.erasing(.downloads))
    #expect(report.cleanup.cleared.contains("cache"))
    #expect(report.scopesWithoutStep == [.downloads])
  }

  @Test func `has a life cycle, as have the open accounts`() async throws {
    let backend = ScriptedBackend.rotating()
    let session = manager(backend)
    try await session.signIn { .sample(0) }
    clock.advance(by: .seconds(590))
    #expect(await SessionLifeCycle(for: session).refreshInBackground(.seconds(60)))
    #expect(backend.calls.count == 1)
    let store = MemoryAccountsStore()
    let accounts = Accounts<Void>(store: store, clock: clock) { [self] _ in manager(backend) }
    try await accounts.add {
      var response = TokenResponse.sample(2, session: "s2")
      response.profile = Profile(id: AccountID("ada"), name: "ada")
      return response
    }
    clock.advance(by: .seconds(590))
    // Another launch, for a background task: the list has not been read yet.
    let launched = Accounts<Void>(store: store, clock: clock, observesChanges: false) { [self] _ in manager(backend) }
    #expect(await SessionLifeCycle(for: launched).refreshInBackground(.seconds(60)))
    #expect(backend.calls.count == 2)
  }

  @Test func `has a date for each time`() {
    #expect(UnixTime(milliseconds: 1_500).date == Date(timeIntervalSince1970: 1.5))
  }

  #if os(Linux)
  @Test func `becomes an account without a sign-out, from the standard place and back`() async throws {
    let server = try TestServer(clock: clock, issuer: "https://a.example.org")
    let name = "handstamp-test-\(UUID().uuidString)"
    let folder = SealedFileVault.standard(name).folder
    defer { try? FileManager.default.removeItem(atPath: (folder as NSString).deletingLastPathComponent) }
    let transport = StubTransport { _ in .init(status: 200) }
    func single(_ places: [EarlierPlace] = []) -> SessionManager<Void> {
      SessionManager(
        backend: server, vault: .standard(name), earlier: places, baseURL: base, transport: transport, policy: quiet)
    }
    let first = single()
    try await first.signIn { try await server.signIn("ada") }
    guard case .signedIn(let facts) = first.state else { throw SessionError.cancelled }
    // Neither a vault nor an earlier place is named.
    let accounts = Accounts<Void>(backend: server, name: name, baseURL: base, transport: transport, policy: quiet) {
      _ in
    }
    await accounts.load()
    let active = try #require(accounts.active)
    _ = try await active.token()
    guard case .signedIn(let moved) = active.controller.state else { throw SessionError.cancelled }
    #expect(moved.id == facts.id && moved.profile?.name == "ada")
    if case .value(let entry) = await SealedFileVault.standard(name).read() { #expect(entry.session == nil) }
    #expect(try await server.isLive(facts.id))
    let back = single([.accounts(of: name)])
    _ = try await back.token()
    guard case .signedIn(let returned) = back.controller.state else { throw SessionError.cancelled }
    #expect(returned.id == facts.id)
  }
  #endif
}
