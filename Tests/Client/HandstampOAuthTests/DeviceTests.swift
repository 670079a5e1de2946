import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampOAuth

@Suite(.timeLimit(.minutes(10))) struct `A sign-in on another device` {
  private static let code = """
    {"device_code":"d1","user_code":"WDJB-MJHT","verification_uri":"https://id.example.org/go","expires_in":60,"interval":5}
    """

  /// Signs in; waits are recorded, not performed.
  private func signIn(_ server: StubServer) async -> (SessionError?, [Duration], [DeviceCode]) {
    let (waits, shown) = (Locked<[Duration]>([]), Locked<[DeviceCode]>([]))
    let backend = OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "app", scopes: ["read"]), transport: server,
      time: OAuthTime(now: { UnixTime(seconds: 0) }, sleep: { wait in waits.withLock { $0.append(wait) } }))
    let error = await failure { () throws(SessionError) in
      try await backend.signInOnAnotherDevice { code in shown.withLock { $0.append(code) } }
    }
    return (error, waits.withLock { $0 }, shown.withLock { $0 })
  }

  @Test func `polls at the server's interval, and slows down on request`() async {
    let server = StubServer()
    server.on("/device", json: Self.code)
    server.on("/token", status: 400, json: #"{"error":"authorization_pending"}"#)
    server.on("/token", status: 400, json: #"{"error":"slow_down"}"#)
    server.on("/token", status: 400, json: #"{"error":"authorization_pending"}"#)
    server.on("/token") { _, _ in TransportResponse(status: 0) }
    server.on("/token", json: StubServer.tokens)
    let (error, waits, shown) = await signIn(server)
    #expect(error == nil)
    #expect(waits == [.seconds(5), .seconds(5), .seconds(10), .seconds(10), .seconds(20)])
    #expect(shown.map(\.userCode) == ["WDJB-MJHT"])
    #expect(server.forms(to: "/device") == [["client_id": "app", "scope": "read"]])
    #expect(server.forms(to: "/token").last?["device_code"] == "d1")
    #expect(server.forms(to: "/token").last?["grant_type"] == "urn:ietf:params:oauth:grant-type:device_code")
  }

  @Test func `says so in the turn that it takes, also if it fails`() async {
    let server = StubServer()
    server.on("/device", json: Self.code)
    server.on("/token", status: 400, json: #"{"error":"access_denied"}"#)
    let turn = SignInTurn(by: nil) { () throws(VaultError) in nil }
    _ = await SignInTurn.$current.withValue(turn) { await signIn(server) }
    #expect(turn.claim == SignInClaim(.deviceCode))
  }

  @Test func `ends when its code expires`() async {
    let server = StubServer()
    server.on("/device", json: Self.code)
    server.on("/token", status: 400, json: #"{"error":"authorization_pending"}"#)
    let (error, waits, _) = await signIn(server)
    #expect(error == .refused(code: "expired_token", detail: "the code expired before the sign-in was confirmed"))
    #expect(waits.count == 12)
  }

  @Test func `shows no code, and asks for none, if the vault cannot be locked`() async throws {
    let server = StubServer()
    server.on("/device", json: Self.code)
    let trouble = VaultError.unavailable("the file system lacks what a vault needs")
    let turn = SignInTurn(by: nil) { () throws(VaultError) in throw trouble }
    let (error, waits, shown) = await SignInTurn.$current.withValue(turn) { await signIn(server) }
    #expect(error == .storage(trouble))
    #expect(waits.isEmpty)
    #expect(shown.isEmpty)
    #expect(server.forms(to: "/device").isEmpty)
  }

  @Test func `names the sign-in that held the turn, if its code expires meanwhile`() async throws {
    let server = StubServer()
    server.on("/device", json: Self.code)
    let trouble = VaultError.unavailable("the sign-in lock is held by process 7")
    let isFree = Locked(true)
    let turn = SignInTurn(by: nil) { () throws(VaultError) in
      // Free when the sign-in begins, and held from then on.
      if isFree.withLock({ isFree in
        defer { isFree = false }
        return isFree
      }) {
        return {}
      }
      throw trouble
    }
    let (error, _, shown) = await SignInTurn.$current.withValue(turn) { await signIn(server) }
    #expect(error == .storage(trouble))
    #expect(shown.count == 1)
    #expect(server.forms(to: "/token").isEmpty)
  }

  @Test func `ends when the user denies it`() async {
    let server = StubServer()
    server.on("/device", json: Self.code)
    server.on("/token", status: 400, json: #"{"error":"access_denied"}"#)
    #expect(await signIn(server).0 == .refused(code: "access_denied", detail: nil))
  }

  @Test(arguments: [
    #"{"device_code":"d","user_code":"A\u001b[2J","verification_uri":"https://id.example.org","expires_in":60}"#,
    #"{"device_code":"d","user_code":"A","verification_uri":"http://id.example.org","expires_in":60}"#,
    #"{"device_code":"d","user_code":"A","verification_uri":"javascript:alert(1)","expires_in":60}"#,
    #"{"device_code":"","user_code":"A","verification_uri":"https://id.example.org","expires_in":60}"#, "{}",
  ])
  func `shows nothing that could harm the terminal`(_ answer: String) async {
    let server = StubServer()
    server.on("/device", json: answer)
    let (error, _, shown) = await signIn(server)
    guard case .invalidResponse = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(shown.isEmpty)
  }

  @Test func `is reported as unsupported if the server lacks it`() async {
    let server = StubServer(
      metadata: #"{"issuer":"https://id.example.org","token_endpoint":"https://id.example.org/token"}"#)
    #expect(await signIn(server).0 == .unsupported("sign-in with a code on another device"))
  }
}
