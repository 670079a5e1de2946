import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampOAuth

/// Attacks by a malicious server, beyond those in the other suites.
@Suite(.timeLimit(.minutes(10))) struct `A hostile authorization server` {
  private let address = #""verification_uri":"https://id.example.org/go""#

  /// Signs in on another device; waits are recorded, not performed.
  private func signIn(_ server: StubServer) async -> (error: SessionError?, waits: [Duration], shown: [DeviceCode]) {
    let (waits, shown) = (Locked<[Duration]>([]), Locked<[DeviceCode]>([]))
    let backend = OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server,
      time: OAuthTime(now: { UnixTime(seconds: 0) }, sleep: { wait in waits.withLock { $0.append(wait) } }))
    let error = await failure { () throws(SessionError) in
      try await backend.signInOnAnotherDevice { code in shown.withLock { $0.append(code) } }
    }
    return (error, waits.withLock { $0 }, shown.withLock { $0 })
  }

  private func isInvalid(_ error: SessionError?) -> Bool { if case .invalidResponse = error { true } else { false } }

  @Test func `that is mostly unreachable is polled every minute, and once at the code's end`() async {
    let server = StubServer()
    server.on("/device", json: #"{"device_code":"d","user_code":"A",\#(address),"expires_in":3600,"interval":5}"#)
    server.on("/token") { _, _ in TransportResponse(status: 0) }
    let (error, waits, _) = await signIn(server)
    #expect(error == .refused(code: "expired_token", detail: "the code expired before the sign-in was confirmed"))
    #expect(waits.allSatisfy { $0 <= .seconds(60) })
    #expect(waits.reduce(.zero, +) == .seconds(3600))
    // If the server itself asks for a longer interval, it is kept.
    let slow = StubServer()
    slow.on("/device", json: #"{"device_code":"d","user_code":"A",\#(address),"expires_in":600,"interval":90}"#)
    slow.on("/token") { _, _ in TransportResponse(status: 0) }
    #expect(await signIn(slow).waits == [90, 90, 90, 90, 90, 90, 60].map { .seconds($0) })
  }

  @Test(arguments: [("0", 1), ("-5", 1), ("0.001", 1), ("1e9", 10), ("null", 5)])
  func `cannot make a device poll without a pause or beyond its code`(_ interval: String, _ first: Int) async {
    let server = StubServer()
    server.on(
      "/device", json: #"{"device_code":"d","user_code":"A",\#(address),"expires_in":10,"interval":\#(interval)}"#)
    server.on("/token", status: 400, json: #"{"error":"authorization_pending"}"#)
    let (error, waits, _) = await signIn(server)
    #expect(error == .refused(code: "expired_token", detail: "the code expired before the sign-in was confirmed"))
    #expect(waits.first == .seconds(first))
    #expect(waits.reduce(.zero, +) == .seconds(10))
  }

  @Test(arguments: ["0", "-1", "-1e300"])
  func `cannot get an expired code shown`(_ life: String) async {
    let server = StubServer()
    server.on("/device", json: #"{"device_code":"d","user_code":"A",\#(address),"expires_in":\#(life)}"#)
    let (error, waits, shown) = await signIn(server)
    #expect(isInvalid(error))
    #expect(waits.isEmpty && shown.isEmpty)
  }

  @Test func `cannot make a user wait more than a day, or read overlong text`() async {
    let server = StubServer()
    server.on("/device", json: #"{"device_code":"d","user_code":"A",\#(address),"expires_in":1e18,"interval":600}"#)
    server.on("/token", status: 400, json: #"{"error":"authorization_pending"}"#)
    #expect(await signIn(server).waits.reduce(.zero, +) == .seconds(86_400))
    for (code, place) in [
      (String(repeating: "A", count: 100), "go"), ("A", String(repeating: "a", count: 5000)),
    ] {
      let long = StubServer()
      long.on(
        "/device",
        json: """
          {"device_code":"d","user_code":"\(code)","verification_uri":"https://id.example.org/\(place)","expires_in":60}
          """)
      let (error, _, shown) = await signIn(long)
      #expect(isInvalid(error))
      #expect(shown.isEmpty)
    }
  }

  @Test(arguments: [
    "Sat, 21 Nov 9223372036854775807 00:00:00 GMT", "Sat, 99999999999999999 Nov 2026 00:00:00 GMT",
    "Sat, 21 Nov 2026 9223372036854775807:00:00 GMT", "Sat, 21 Nov -9223372036854775808 00:00:00 GMT",
    "Sat, 21 Nov 2026 00:-1:00 GMT", "Sat, 00 Nov 2026 00:00:00 GMT", "Sat, 21 Nov 2026 00:00:00:00 GMT", "",
  ])
  func `sets no clock with an invalid date`(_ date: String) async throws {
    #expect(UnixTime(httpDate: date) == nil)
    let server = StubServer()
    let payload = #"{"iss":"https://id.example.org","sub":"ada","aud":"app","exp":1}"#
    server.on(
      "/token", headers: [HeaderField("Date", date)],
      json: #"{"access_token":"a","token_type":"Bearer","id_token":"\#(StubServer.unsigned(payload))"}"#)
    let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
    let grant = try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    #expect(grant.profile?.id == AccountID("ada"))
  }

  @Test func `is read up to a limit, and its redirects are not followed`() async {
    let nested = String(repeating: "[", count: 200_000)
    for body in [nested, #"{"a":"# + nested, "null", "[]", "7", "\u{FEFF}{}", #"{"issuer":7}"#, ""] {
      let server = StubServer(metadata: body)
      #expect(isInvalid(await signIn(server).error), "\(body.prefix(20))")
      let later = StubServer()
      later.on("/token", json: body)
      let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: later)
      let error = await failure { () throws(SessionError) in
        try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
      }
      #expect(isInvalid(error), "\(body.prefix(20))")
      for (path, most) in [("/token", 32 << 20), ("/.well-known/oauth-authorization-server", 1 << 20)] {
        #expect(later.requests(to: path).allSatisfy { $0.maximumResponseSize <= most })
      }
    }
    let server = StubServer()
    server.on("/token", status: 307, headers: [HeaderField("Location", "https://evil.example.org/token")], json: "{}")
    let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
    let error = await failure { () throws(SessionError) in
      try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    }
    #expect(error == .requestFailed(.server(.init(status: 307))))
    #expect(server.requests(to: "/token").count == 1)
  }

  @Test(arguments: [
    #"{"access_token":"a\r\nX: y","token_type":"Bearer"}"#, #"{"access_token":"a b","token_type":"Bearer"}"#,
    #"{"access_token":"","token_type":"Bearer"}"#, #"{"access_token":"a","token_type":"mac"}"#,
    #"{"access_token":"a","token_type":"Bearer","refresh_token":"é"}"#, #"{"access_token":"a"}"#,
    #"{"access_token":["a"],"token_type":"Bearer"}"#,
  ])
  func `cannot supply a token that breaks out of a header`(_ body: String) async {
    let server = StubServer()
    server.on("/token", json: body)
    let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
    let error = await failure { () throws(SessionError) in
      try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
    }
    #expect(isInvalid(error))
  }

  @Test func `cannot supply an invalid subject`() async {
    for subject in ["", String(repeating: "a", count: 2000), #"a\u0000b"#, #"a\nb"#] {
      let payload = #"{"iss":"https://id.example.org","sub":"\#(subject)","aud":"app","exp":4e9}"#
      let server = StubServer()
      server.on(
        "/token", json: #"{"access_token":"a","token_type":"Bearer","id_token":"\#(StubServer.unsigned(payload))"}"#)
      let backend = OAuthBackend(OAuthClient(issuer: StubServer.issuer, id: "app"), transport: server)
      let error = await failure { () throws(SessionError) in
        try await backend.signIn(through: Person.agreeing(), redirectURI: "org.example.app:/back")
      }
      #expect(isInvalid(error), "\(subject.prefix(9))")
    }
  }
}
