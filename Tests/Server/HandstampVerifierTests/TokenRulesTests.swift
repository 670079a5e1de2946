#if Programs
import HandstampCore
import HandstampJOSE
import HandstampSupport
import Testing

@testable import HandstampVerifier

@Suite(.timeLimit(.minutes(10))) struct `A verifier without a feed` {
  private func refusal(_ verifier: TokenVerifier, _ token: String) async -> AccessError? {
    do throws(AccessError) {
      _ = try await verifier.verify(token)
      return nil
    } catch { return error }
  }

  @Test func `reads the identity of a token of RFC 9068`() async throws {
    let issuer = Issuer()
    let now = issuer.clocks.now
    let identity = try await issuer.verifier().verify(
      issuer.token(["aud": #"["https://other.example.org","\#(Issuer.api)"]"#, "auth_time": "\(now.seconds - 5)"]))
    #expect(identity.issuer == Issuer.name)
    #expect(identity.subject == "ada")
    #expect(identity.clientID == "app")
    #expect(identity.audiences == ["https://other.example.org", Issuer.api])
    #expect(identity.scopes == ["read", "write"])
    #expect(identity.sessionID == "s1")
    #expect(identity.expiresAt == now.advanced(by: .seconds(600)))
    #expect(identity.authenticatedAt == now.advanced(by: .seconds(-5)))
    #expect(identity.assurance == .expiryOnly)
    #expect(JSONValue(identity.claims)?["sub"] == .string("ada"))
    #expect(!"\(identity)".contains("exp"))
  }

  @Test func `finds what is below an issuer, whose own slash counts once`() {
    let feed = FeedSettings(clientID: "api", clientSecret: Secret("s"))
    for issuer in ["https://id.example.org", "https://id.example.org/"] {
      let configuration = VerifierConfiguration(issuer: issuer, audiences: [issuer])
      #expect(configuration.issuer == issuer)
      #expect(configuration.keys == .url("https://id.example.org/.well-known/jwks.json"))
      #expect(configuration.feedURL(feed) == "https://id.example.org/v1/revocations")
      #expect(configuration.introspectionURL(feed) == "https://id.example.org/oauth/introspect")
    }
  }

  @Test(arguments: [#""AT+JWT""#, #""application/at+jwt""#, #""Application/At+JWT""#])
  func `accepts other spellings of the type`(type: String) async throws {
    let issuer = Issuer()
    #expect(await refusal(try issuer.verifier(), issuer.token(header: ["typ": type])) == nil)
  }

  @Test func `refuses what is not exactly a token for this API`() async throws {
    let issuer = Issuer()
    let verifier = try issuer.verifier()
    let now = issuer.clocks.now.seconds
    let other = JWSPrivateKey.es256()
    let good = issuer.token()
    let parts = good.split(separator: ".").map(String.init)
    let cases: [(String, TokenDefect)] = [
      ("", .malformed), ("x", .malformed), ("a.b.c", .malformed), (good + "=", .malformed), (good + ".", .malformed),
      (String(repeating: "a", count: 9000), .malformed), (parts[0] + "." + parts[1] + ".", .signature),
      (issuer.token(signedBy: other), .signature), (issuer.token(header: ["alg": #""none""#]), .malformed),
      (issuer.token(header: ["alg": #""HS256""#]), .malformed), (issuer.token(header: ["alg": ""]), .malformed),
      (issuer.token(header: ["crit": #"["x"]"#]), .malformed),
      (issuer.token(header: ["jku": #""https://x""#]), .malformed),
      (issuer.token(header: ["alg": #""RS256""#]), .unknownKey), (issuer.token(header: ["kid": #""x""#]), .unknownKey),
      (issuer.token(header: ["typ": ""]), .type), (issuer.token(header: ["typ": #""JWT""#]), .type),
      (issuer.token(header: ["typ": #""dpop+jwt""#]), .type),
      (issuer.token(["iss": #""https://evil.example.org""#]), .issuer),
      (issuer.token(["iss": #""\#(Issuer.name)//""#]), .issuer), (issuer.token(["iss": ""]), .claims),
      (issuer.token(["aud": #""https://other.example.org""#]), .audience), (issuer.token(["aud": "[]"]), .audience),
      (issuer.token(["aud": ""]), .claims), (issuer.token(["aud": #"["a",1]"#]), .claims),
      (issuer.token(["sub": ""]), .claims), (issuer.token(["sub": #""""#]), .claims),
      (issuer.token(["sub": "1"]), .claims),
      (issuer.token(["client_id": ""]), .claims), (issuer.token(["jti": ""]), .claims),
      (issuer.token(["iat": ""]), .claims), (issuer.token(["exp": ""]), .claims),
      (issuer.token(["exp": #""\#(now + 600)""#]), .claims), (issuer.token(["exp": "1e300"]), .claims),
      (issuer.token(["exp": "-1"]), .claims), (issuer.token(["scope": #"["read"]"#]), .claims),
      (issuer.token(["sid": "1"]), .claims), (issuer.token(["auth_time": #""x""#]), .claims),
      (issuer.token(["nbf": "\(now + 11)"]), .notYetValid), (issuer.token(["nbf": "null"]), .claims),
      (issuer.token(["cnf": "{}"]), .binding), (issuer.token(["cnf": #"{"x5t#S256":"a"}"#]), .binding),
      (issuer.token(["cnf": #"{"jkt":"a","x5t#S256":"b"}"#]), .binding), (issuer.token(["cnf": "null"]), .binding),
      (issuer.token(["cnf": #"{"jkt":"a"}"#]), .scheme),
    ]
    for (token, fault) in cases {
      #expect(await refusal(verifier, token) == .tokenInvalid(fault), "\(token.prefix(300))")
    }
    #expect(await refusal(verifier, good) == nil)
    #expect(await refusal(verifier, issuer.token(["nbf": "\(now + 10)"])) == nil)
  }

  @Test func `accepts a token until its expiry and the leeway`() async throws {
    let issuer = Issuer()
    let verifier = try issuer.verifier { $0.leeway = .seconds(5) }
    let end = issuer.clocks.now.seconds + 100
    let token = issuer.token(["exp": "\(end)"])
    issuer.clocks.advance(by: .milliseconds(104_999))
    #expect(await refusal(verifier, token) == nil)
    issuer.clocks.advance(by: .milliseconds(1))
    #expect(await refusal(verifier, token) == .tokenExpired(at: UnixTime(seconds: end)))
  }

  @Test func `accepts only the algorithms that it was told`() async throws {
    let issuer = Issuer()
    let verifier = try issuer.verifier { configuration in
      configuration.algorithms = [.rs256]
      configuration.keys = .url("https://id.example.org/keys")
    }
    #expect(await refusal(verifier, issuer.token()) == .tokenInvalid(.algorithm))
    var other = issuer
    other.key = try #require(JWSPrivateKey.rs256(bits: 2048))
    let both = try other.verifier()
    #expect(await refusal(both, other.token()) == nil)
    #expect(await refusal(both, other.token(header: ["alg": #""ES256""#])) == .tokenInvalid(.unknownKey))
  }

  @Test func `requires scopes, except of the issuer's own apps`() async throws {
    let issuer = Issuer()
    let verifier = try issuer.verifier { $0.firstPartyClients = ["own"] }
    _ = try await verifier.verify(issuer.token(), requiring: ["read", "write"])
    await #expect(throws: AccessError.insufficientScope(["admin"])) {
      try await verifier.verify(issuer.token(), requiring: ["admin"])
    }
    await #expect(throws: AccessError.insufficientScope(["read"])) {
      try await verifier.verify(issuer.token(["scope": ""]), requiring: ["read"])
    }
    _ = try await verifier.verify(issuer.token(["scope": "", "client_id": #""own""#]), requiring: ["read"])
    // A scope that is there counts, for every client.
    await #expect(throws: AccessError.insufficientScope(["admin"])) {
      try await verifier.verify(issuer.token(["client_id": #""own""#]), requiring: ["admin"])
    }
  }

  @Test func `takes no program for a user, unless it was told of programs`() async throws {
    let issuer = Issuer()
    let own = issuer.token(["sub": #""app""#])
    #expect(await refusal(try issuer.verifier(), own) == .noAccount)
    #expect(await refusal(try issuer.verifier { $0.firstPartyClients = ["app"] }, own) == .noAccount)
    let told = try issuer.verifier { $0.admitsMachines = true }
    #expect(try await told.verify(own).isMachine)
    #expect(try await told.verify(issuer.token()).isMachine == false)
    let request = AccessRequest(
      method: "GET", url: Issuer.api + "/things", authorization: ["Bearer \(own)"], proofs: [])
    let response = try issuer.verifier().response(to: .noAccount, of: request)
    #expect(response.status == 403)
    #expect(String(decoding: response.body, as: UTF8.self).contains(#""code":"no_account""#))
    #expect(response.headers.first(named: "WWW-Authenticate") == nil, "no sign-in helps")
  }

  @Test func `cannot be set up so that it would accept nothing, or send a secret in the clear`() {
    let issuer = Issuer()
    let feed = FeedSettings(clientID: "api", clientSecret: Secret("s"))
    let cases: [(VerifierError, (inout VerifierConfiguration) -> Void)] = [
      (.badIssuer("http://id.example.org"), { $0.issuer = "http://id.example.org" }),
      (.badIssuer("x"), { $0.issuer = "x" }), (.noAudience, { $0.audiences = [] }),
      (.noAudience, { $0.audiences = [""] }),
      (.noAlgorithm, { $0.algorithms = [] }), (.badKeys, { $0.keys = .fixed("{}") }),
      (.badKeys, { $0.algorithms = [.rs256] }),
      (.badURL("http://a.example.org"), { $0.keys = .url("http://a.example.org") }),
      (
        .badURL("http://a.example.org"),
        {
          $0.feed = feed
          $0.feed?.url = "http://a.example.org"
        }
      ),
      (.noClient, { $0.feed = FeedSettings(clientID: "", clientSecret: Secret("s")) }),
    ]
    for (fault, change) in cases {
      #expect(throws: fault) { try issuer.verifier(ScriptedTransport(), change) }
    }
  }
}
#endif
