import Handstamp
import HandstampTesting
import Testing

@testable import HandstampOAuth

@Suite(.timeLimit(.minutes(10))) struct `The ID token of a token response` {
  /// The server's clock, as in its responses.
  private static let served = UnixTime(seconds: 784_111_777)
  private let clock = ManualClock()
  private let server = StubServer()

  private func token(_ sub: String = "ann", iss: String = StubServer.issuer, aud: String = "app", endsIn life: Int64)
    -> String
  {
    StubServer.unsigned(#"{"iss":"\#(iss)","sub":"\#(sub)","aud":"\#(aud)","exp":\#(Self.served.seconds + life)}"#)
  }

  private func answer(_ number: Int, _ idToken: String?, hasDate: Bool = true) {
    let id = idToken.map { #","id_token":"\#($0)""# } ?? ""
    server.on(
      "/token", headers: hasDate ? [HeaderField("Date", "Sun, 06 Nov 1994 08:49:37 GMT")] : [],
      json: #"{"access_token":"a\#(number)","token_type":"Bearer","expires_in":60,"refresh_token":"r\#(number)"\#(id)}"#
    )
  }

  private func signedIn() async throws -> SessionController {
    server.on("/device", json: #"{"device_code":"d","user_code":"A","verification_uri":"https://id.example.org/go"}"#)
    let backend = OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "app", scopes: ["openid"]), transport: server,
      time: OAuthTime(now: { Self.served }, sleep: { _ in }))
    let session = SessionController(
      backend: backend, vault: MemoryVault(),
      policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false), retry: RetryPolicy(attempts: 1)), clock: clock)
    try await session.signIn { () async throws(SessionError) in try await backend.signInOnAnotherDevice { _ in } }
    return session
  }

  private func text(_ session: SessionController) async throws(SessionError) -> String {
    try await session.identityToken().secret.withExposed { $0 }
  }

  @Test(arguments: [true, false])
  func `is kept for as long as the server's clock says`(hasDate: Bool) async throws {
    let (first, second) = (token(endsIn: 300), token(endsIn: 500))
    answer(0, first, hasDate: hasDate)
    answer(1, second, hasDate: hasDate)
    let session = try await signedIn()
    #expect(try await text(session) == first)
    clock.advance(by: .seconds(300) - .nanoseconds(1))
    #expect(try await text(session) == first)
    clock.advance(by: .nanoseconds(1))
    #expect(try await text(session) == second)
  }

  @Test(arguments: [
    ("bob", StubServer.issuer, "app"), ("ann", "https://other.example.org", "app"), ("ann", StubServer.issuer, "x"),
  ])
  func `is kept if that of a refresh is of another person, issuer or client`(
    _ sub: String, _ iss: String, _ aud: String
  ) async throws {
    let first = token(endsIn: 300)
    answer(0, first)
    answer(1, token(sub, iss: iss, aud: aud, endsIn: 600))
    let session = try await signedIn()
    clock.advance(by: .seconds(61))
    await #expect(throws: SessionError.self) { try await session.token() }
    #expect(try await text(session) == first)
  }

  @Test func `is kept if that of a refresh is missing, over, unreadable, or fit for no header`() async throws {
    let first = token(endsIn: 7200)
    answer(0, first)
    let others = [nil, token(endsIn: 0), "encrypted.a.b.c.d", token(endsIn: 600) + "\\n"]
    for (number, other) in others.enumerated() { answer(number + 1, other) }
    let session = try await signedIn()
    for number in 1...others.count {
      clock.advance(by: .seconds(61))
      #expect(try await session.token() == AccessToken("a\(number)"))
      #expect(try await text(session) == first, "\(number)")
    }
  }

  @Test func `comes from a server that speaks OpenID Connect only`() async throws {
    answer(0, nil)
    let session = try await signedIn()
    await #expect(throws: SessionError.noIDToken) { try await session.identityToken() }
  }
}
