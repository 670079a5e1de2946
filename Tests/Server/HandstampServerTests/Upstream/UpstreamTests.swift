#if Programs
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A sign-in at a provider` {
  @Test func `tells who the user is, by a verified ID token`() async throws {
    let world = try UpstreamWorld()
    let now = world.clock.now.seconds
    let outcome = try await world.outcome([
      "email": #""Ada@Example.org""#, "email_verified": "true", "name": #""Ada""#, "sid": #""s-1""#,
      "auth_time": "\(now - 5)", "amr": #"["pwd","otp"]"#, "acr": #""2""#, "session_expiry": "\(now + 900)",
    ])
    let user = outcome.user
    #expect(user.identity == ExternalIdentity(issuer: ScriptedProvider.issuer, subject: "u-1"))
    #expect(user.provider == "office" && user.name == "Ada")
    #expect(user.email?.normalized == "ada@example.org" && user.isEmailVerified)
    #expect(user.session == "s-1" && user.acr == "2" && user.methods == ["pwd", "otp"])
    #expect(user.authenticatedAt == UnixTime(seconds: now - 5))
    #expect(user.sessionExpiry == UnixTime(seconds: now + 900))
    #expect(outcome.context == "/notes")
    // Everything was in the token.
    #expect(world.provider.requests(to: "/me").isEmpty)
  }

  @Test(arguments: [nil, UserInfoMapping()] as [UserInfoMapping?])
  func `tells it under the provider's own spelling of its issuer`(mapping: UserInfoMapping?) async throws {
    let world = try UpstreamWorld {
      $0.issuer = ScriptedProvider.issuer + "/"
      $0.userInfo = mapping
      $0.userInfo?.id = "sub"
    }
    let identity = ExternalIdentity(issuer: ScriptedProvider.issuer, subject: "u-1")
    #expect(try await world.outcome().user.identity == identity)
    let other = try await world.begin()
    await #expect(throws: UpstreamError.self) { try await world.finish(other, ["iss": ScriptedProvider.issuer + "/"]) }
  }

  @Test(arguments: [#" ada@example.org"#, #"ada@example.org\n"#, #"ada@example.org\u2028"#, #"\tada@example.org "#])
  func `takes an address with more than an address for none`(_ email: String) async throws {
    let world = try UpstreamWorld { $0.trustsEmail = true }
    world.provider.set { $0.answers["/me"] = .json(#"{"sub":"u-1","email":"\#(email)","email_verified":true}"#) }
    let user = try await world.outcome(["email": #""\#(email)""#, "email_verified": "true"]).user
    #expect(user.email == nil && !user.isEmailVerified)
  }

  @Test func `asks for the code with PKCE, state and nonce, and redeems it with the verifier`() async throws {
    let world = try UpstreamWorld()
    let attempt = try await world.begin()
    #expect(attempt.start.url.hasPrefix("https://provider.example/authorize?"))
    #expect(attempt.fields["redirect_uri"] == "https://forum.example.org/sign-in/with/office/callback")
    #expect(attempt.fields["code_challenge_method"] == "S256" && attempt.fields["prompt"] == "login")
    #expect(attempt.fields["scope"] == "openid email profile" && attempt.fields["response_type"] == "code")
    // The browser has the secrets of its attempt, and cannot read them.
    for name in ["state", "nonce", "code_challenge"] {
      let value = try #require(attempt.fields[name])
      #expect(value.utf8.count >= 22 && !attempt.start.attempt.contains(value))
    }
    #expect(attempt.start.attempt.utf8.count < 3000)
    let token = world.token(["nonce": attempt.nonce])
    world.provider.set { $0.idToken = token }
    _ = try await world.finish(attempt)
    let form = String(decoding: try #require(world.provider.requests(to: "/token").first).body, as: UTF8.self)
    #expect(form.contains("code=code-secret") && form.contains("code_verifier="))
    #expect(!form.contains("client-secret"), "it is in the header")
  }

  @Test func `asks for an address and a name that the ID token leaves out, of the same user`() async throws {
    let world = try UpstreamWorld()
    let user = try await world.outcome().user
    #expect(user.name == "Ada at the provider" && user.email?.typed == "ada@example.org" && user.isEmailVerified)
    world.provider.set { $0.answers["/me"] = .json(#"{"sub":"u-2","email":"eve@example.org"}"#) }
    await #expect(throws: UpstreamError.invalid("the user information belongs to another user")) {
      try await world.outcome()
    }
    // The token alone is enough.
    world.provider.set { $0.answers["/me"] = TransportResponse(status: 500) }
    let silent = try await world.outcome(["name": #""Ada""#]).user
    #expect(silent.name == "Ada" && silent.email == nil && !silent.isEmailVerified)
  }

  // MARK: Hostile tokens

  static let tokens: [(String, @Sendable (UpstreamWorld, String) -> String)] = [
    ("another issuer", { $0.token(["nonce": $1, "iss": #""https://evil.example""#]) }),
    ("another client", { $0.token(["nonce": $1, "aud": #""other""#]) }),
    ("several clients, without azp", { $0.token(["nonce": $1, "aud": #"["forum","other"]"#]) }),
    ("another authorized party", { $0.token(["nonce": $1, "azp": #""other""#]) }),
    ("a party that is no text", { $0.token(["nonce": $1, "azp": "1"]) }),
    ("no client", { $0.token(["nonce": $1, "aud": ""]) }),
    ("another nonce", { world, _ in world.token(["nonce": #""a nonce of another sign-in""#]) }),
    ("no nonce", { world, _ in world.token() }),
    ("expired", { $0.token(["nonce": $1, "exp": "\($0.clock.now.seconds - 60)"]) }),
    ("no end", { $0.token(["nonce": $1, "exp": ""]) }),
    ("no time of issue", { $0.token(["nonce": $1, "iat": ""]) }),
    ("a year old", { $0.token(["nonce": $1, "iat": "\($0.clock.now.seconds - 365 * 86_400)"]) }),
    ("a day old", { $0.token(["nonce": $1, "iat": "\($0.clock.now.seconds - 86_400)"]) }),
    ("from the future", { $0.token(["nonce": $1, "iat": "\($0.clock.now.seconds + 62)"]) }),
    ("not valid yet", { $0.token(["nonce": $1, "nbf": "\($0.clock.now.seconds + 62)"]) }),
    ("no subject", { $0.token(["nonce": $1, "sub": #""""#]) }),
    ("an overlong subject", { $0.token(["nonce": $1, "sub": #""\#(String(repeating: "x", count: 256))""#]) }),
    ("a subject with a null byte", { $0.token(["nonce": $1, "sub": #""u-1\u0000""#]) }),
    ("no algorithm", { $0.token(["nonce": $1], header: ["alg": #""none""#]) }),
    ("another algorithm", { $0.token(["nonce": $1], header: ["alg": #""RS256""#]) }),
    ("an unknown key", { $0.token(["nonce": $1], by: .es256()) }),
    (
      "another key",
      { $0.token(["nonce": $1], header: ["kid": #""\#(ScriptedProvider.key.publicKey.thumbprint)""#], by: .es256()) }
    ),
    ("a key of its own", { $0.token(["nonce": $1], header: ["jku": #""https://evil.example/keys""#]) }),
    ("a logout token", { $0.token(["nonce": $1], header: ["typ": #""logout+jwt""#]) }),
    ("an event", { $0.token(["nonce": $1, "events": "{}"]) }),
    ("repeated members", { $0.token(["nonce": $1, "sub": #""u-1","sub":"u-2""#]) }),
    ("no token", { _, _ in "" }), ("no JWT", { _, _ in "garbage" }),
    ("an overlong one", { $0.token(["nonce": $1, "x": #""\#(String(repeating: "x", count: 9000))""#]) }),
    (
      "a shared secret",
      { world, nonce in
        var assertion = world.assertion()
        assertion.claims = assertion.claims.merging(world.claims(["nonce": nonce])) { $1 }
        return assertion.text(maskedBy: "client-secret")
      }
    ),
    (
      "no signature",
      { world, nonce in
        var assertion = world.assertion()
        assertion.claims = assertion.claims.merging(world.claims(["nonce": nonce])) { $1 }
        return assertion.unsigned
      }
    ),
  ]

  @Test(arguments: tokens.indices)
  func `refuses every ID token that is not this one's`(_ index: Int) async throws {
    let world = try UpstreamWorld()
    let attempt = try await world.begin()
    let bad = Self.tokens[index].1(world, attempt.nonce)
    world.provider.set { $0.idToken = bad }
    let error = await #expect(throws: UpstreamError.self, "\(Self.tokens[index].0)") { try await world.finish(attempt) }
    #expect(error?.code == "upstream_invalid", "\(Self.tokens[index].0)")
    if !bad.isEmpty { #expect(!"\(error as Any)".contains(bad)) }
    // The same sign-in with the right one.
    let good = world.token(["nonce": attempt.nonce])
    world.provider.set { $0.idToken = good }
    #expect(try await world.finish(attempt).user.identity.subject == "u-1")
  }

  @Test func `allows clocks to differ by a minute, and this client among several`() async throws {
    let world = try UpstreamWorld()
    let now = world.clock.now.seconds
    for claims in [
      ["exp": "\(now - 59)"], ["iat": "\(now + 59)"], ["iat": "\(now - 86_399)"],
      ["aud": #"["other","forum"]"#, "azp": #""forum""#],
    ] {
      #expect(try await world.outcome(claims).user.identity.subject == "u-1")
    }
  }

  /// The provider's clock agrees with one of them.
  @Test(arguments: [480, -480]) func `is judged by both of two doubtful times`(ahead: Int64) async throws {
    let world = try UpstreamWorld()
    let now = world.clock.now
    let doubt = ServerClock.Reading(now: now, wall: now.advanced(by: .seconds(ahead)))
    for (time, claims) in [
      (doubt.now, [:]), (doubt.wall, [:]), (doubt.now, ["nbf": "\(doubt.now.seconds)"]),
      (doubt.wall, ["nbf": "\(doubt.wall.seconds)"]),
    ] as [(UnixTime, [String: String])] {
      let attempt = try await world.begin()
      let usual = ["nonce": attempt.nonce, "iat": "\(time.seconds)", "exp": "\(time.seconds + 60)"]
      let token = world.token(usual.merging(claims) { $1 })
      world.provider.set { $0.idToken = token }
      #expect(try await world.finish(attempt, at: doubt).user.identity.subject == "u-1")
    }
    // By neither.
    for bad in [["exp": "\(doubt.earliest.seconds - 61)"], ["iat": "\(doubt.latest.seconds + 62)"]] {
      let attempt = try await world.begin()
      let token = world.token(["nonce": attempt.nonce].merging(bad) { $1 })
      world.provider.set { $0.idToken = token }
      await #expect(throws: UpstreamError.invalid("the ID token is not valid")) {
        try await world.finish(attempt, at: doubt)
      }
    }
  }

  @Test func `takes a token that names no key if there is one alone`() async throws {
    let world = try UpstreamWorld()
    let attempt = try await world.begin()
    let token = world.token(["nonce": attempt.nonce], header: ["kid": ""])
    world.provider.set { $0.idToken = token }
    _ = try await world.finish(attempt)
    let several = try UpstreamWorld()
    let other = JWKSet([JWK(ScriptedProvider.key.publicKey), JWK(JWSPrivateKey.es256().publicKey)]).json
    several.provider.set { $0.keys = String(decoding: other, as: UTF8.self) }
    let second = try await several.begin()
    let nameless = several.token(["nonce": second.nonce], header: ["kid": ""])
    several.provider.set { $0.idToken = nameless }
    await #expect(throws: UpstreamError.self) { try await several.finish(second) }
  }

  // MARK: Hostile responses

  static let answers: [(String, code: String, @Sendable (inout ScriptedProvider.State) -> Void)] = [
    ("metadata of another issuer", "upstream_invalid", { $0.metadata["issuer"] = #""https://evil.example""# }),
    ("no issuer", "upstream_invalid", { $0.metadata["issuer"] = nil }),
    (
      "tokens in the clear", "upstream_invalid", { $0.metadata["token_endpoint"] = #""http://provider.example/token""# }
    ),
    ("no S256", "upstream_invalid", { $0.metadata["code_challenge_methods_supported"] = #"["plain"]"# }),
    (
      "no metadata", "upstream_unavailable",
      { $0.answers["/.well-known/openid-configuration"] = .json("{}", status: 404) }
    ),
    (
      "metadata that are down", "upstream_unavailable",
      { $0.answers["/.well-known/openid-configuration"] = .json("", status: 503) }
    ),
    (
      "huge metadata", "upstream_invalid",
      { $0.metadata["more"] = "\"" + String(repeating: "x", count: 300_000) + "\"" }
    ),
    ("metadata elsewhere", "upstream_unavailable", { $0.answers["/.well-known/openid-configuration"] = .elsewhere }),
    ("keys in the clear", "upstream_unavailable", { $0.metadata["jwks_uri"] = #""http://provider.example/keys""# }),
    ("no keys", "upstream_unavailable", { $0.metadata["jwks_uri"] = nil }),
    (
      "huge keys", "upstream_unavailable", { $0.answers["/keys"] = .json(String(repeating: " ", count: 70_000) + "{}") }
    ),
    ("keys elsewhere", "upstream_unavailable", { $0.answers["/keys"] = .elsewhere }),
    ("keys that are a page", "upstream_unavailable", { $0.answers["/keys"] = .json("<html>") }),
    ("tokens elsewhere", "upstream_unavailable", { $0.answers["/token"] = .elsewhere }),
    ("tokens that are down", "upstream_unavailable", { $0.answers["/token"] = TransportResponse(status: 502) }),
    (
      "a huge token response", "upstream_unavailable",
      { $0.answers["/token"] = .json(String(repeating: " ", count: 300_000)) }
    ),
    ("a page", "upstream_invalid", { $0.answers["/token"] = .json("<html>") }),
    (
      "a code that was used", "upstream_refused",
      { $0.answers["/token"] = .json(#"{"error":"invalid_grant"}"#, status: 400) }
    ),
    (
      "another secret", "upstream_refused",
      { $0.answers["/token"] = .json(#"{"error":"invalid_client"}"#, status: 401) }
    ),
    (
      "no ID token", "upstream_invalid",
      { $0.answers["/token"] = .json(#"{"access_token":"at","token_type":"Bearer"}"#) }
    ),
    (
      "an unknown kind of token", "upstream_invalid",
      { $0.answers["/token"] = .json(#"{"access_token":"at","token_type":"mac"}"#) }
    ),
  ]

  @Test(arguments: answers.indices)
  func `fails with a code for every response that is of no use`(_ index: Int) async throws {
    let world = try UpstreamWorld()
    world.provider.set(Self.answers[index].2)
    let error = await #expect(throws: UpstreamError.self, "\(Self.answers[index].0)") { try await world.outcome() }
    #expect(error?.code == Self.answers[index].code, "\(Self.answers[index].0): \(error as Any)")
    for secret in ["code-secret", "client-secret", "at-secret", "rt-secret"] {
      #expect(!"\(error as Any)".contains(secret))
    }
    #expect(world.provider.requests.allSatisfy { !$0.url.contains("evil.example") }, "no redirect is followed")
  }

  @Test func `bounds every request in time and size`() async throws {
    let world = try UpstreamWorld()
    _ = try await world.outcome()
    for path in ["/keys", "/token", "/me"] { #expect(world.provider.requests(to: path).count == 1) }
    #expect(world.provider.requests.allSatisfy { $0.timeout <= .seconds(10) && $0.maximumResponseSize <= 256 << 10 })
  }

  @Test func `takes a key that appears in the middle, and asks for unknown ones once in a while`() async throws {
    let world = try UpstreamWorld()
    _ = try await world.outcome()
    let new = JWSPrivateKey.es256()
    func signIn() async throws(UpstreamError) -> UpstreamOutcome {
      let attempt = try await world.begin()
      let token = world.token(["nonce": attempt.nonce], by: new)
      world.provider.set { $0.idToken = token }
      return try await world.finish(attempt)
    }
    world.clock.advance(by: KeySet.pause)
    for _ in 0..<5 { await #expect(throws: UpstreamError.self) { try await signIn() } }
    #expect(world.provider.requests(to: "/keys").count == 2)
    world.provider.set { $0.keys = new.jwks }
    world.clock.advance(by: KeySet.pause)
    _ = try await signIn()
    #expect(world.provider.requests(to: "/keys").count == 3)
    #expect(world.provider.requests(to: "/openid-configuration").count == 1, "metadata last for a day")
    world.clock.advance(by: .seconds(86_400))
    _ = try await signIn()
    #expect(world.provider.requests(to: "/openid-configuration").count == 2)
  }
}

extension TransportResponse {
  fileprivate static let elsewhere = TransportResponse(
    status: 302, headers: [HeaderField("Location", "https://evil.example/")])
}
#endif
