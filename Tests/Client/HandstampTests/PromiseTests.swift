import Handstamp
import HandstampTesting
import Testing

/// The promise itself, against the server's real rules.
@Suite(.timeLimit(.minutes(10))) struct `The promise` {
  @Test func `a lost response does not sign the user out`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    await test.server.loseNextResponse()
    test.clock.advance(by: .seconds(3600))
    _ = try await test.relaunch().token()
    #expect(await test.server.rotations == 1)
    #expect(await test.server.repeats == 1)
  }

  @Test(arguments: [
    RequestError.network(.timedOut), .configuration(.init(status: 401, error: "invalid_client")),
    .network(.notConnected("refused")), .server(.init(status: 200)), .clock(.seconds(100)),
  ])
  func `an undecided response does not sign the user out`(_ failure: RequestError) async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    test.clock.advance(by: .seconds(3600))
    // A refusal by the endpoint itself is not followed by a second request.
    let attempts = failure.isEndpointRefusal ? 1 : 4
    for _ in 0..<attempts { await test.server.expect(.answered(.noDecision(failure))) }
    await #expect(throws: SessionError.requestFailed(failure)) { try await test.token() }
    #expect(test.session.state.isSignedIn)
    test.clock.advance(by: .seconds(60))
    _ = try await test.token()
  }

  @Test func `a copied token is detected at the next refresh, and the device reports it`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    guard case .value(let entry) = await test.vault.read(), let copied = entry.session?.refresh else {
      Issue.record("nothing stored")
      return
    }
    var random = SystemRandomNumberGenerator()
    _ = try await test.server.refresh(copied, key: RotationKey(from: &random)).get()
    test.clock.advance(by: .seconds(3600))
    await #expect(throws: SessionError.sessionEnded(.tokenReuseDetected)) { try await test.token() }
    #expect(test.session.state == .signedOut(.tokenReuseDetected))
    #expect(test.session.authorizationHeader == nil)
  }

  @Test func `a session ended elsewhere ends here, with its reason`() async throws {
    let test = try SessionTest()
    let session = try await test.signIn("ada").id
    try await test.server.end(session, reason: .accountClosed)
    test.clock.advance(by: .seconds(3600))
    await #expect(throws: SessionError.sessionEnded(.accountClosed)) { try await test.token() }
  }

  @Test func `signing in again on a device ends its previous session with the first use of the new one`() async throws {
    let test = try SessionTest()
    let first = try await test.signIn("ada").id
    let second = try await test.signIn("ada").id
    test.clock.advance(by: .seconds(3600))
    _ = try await test.token()
    #expect(try await !test.server.isLive(first))
    #expect(try await test.server.isLive(second))
  }

  @Test func `a second user's sign-in is unaffected by the first one's late refresh`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    test.clock.advance(by: .seconds(3600))
    async let late = test.token()
    try await test.signIn("grace")
    _ = try? await late
    guard case .signedIn(let facts) = test.session.state else {
      Issue.record("not signed in")
      return
    }
    #expect(facts.profile?.name == "grace")
    guard case .value(let entry) = await test.vault.read() else {
      Issue.record("nothing stored")
      return
    }
    #expect(entry.session?.profile?.name == "grace")
  }

  @Test func `twenty processes at expiry cause one rotation`() async throws {
    let test = try SessionTest()
    try await test.signIn("ada")
    test.clock.advance(by: .seconds(3600))
    let processes = (0..<20).map { _ in test.secondProcess() }
    let calls = processes.map { process in Task { try await process.token() } }
    var tokens: Set<AccessToken> = []
    for call in calls { tokens.insert(try await call.value) }
    #expect(tokens.count == 1)
    #expect(await test.server.rotations == 1)
  }
}
