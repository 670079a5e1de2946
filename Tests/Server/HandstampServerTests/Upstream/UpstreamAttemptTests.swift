#if Programs
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport
import Crypto
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `An attempt to sign in at a provider` {
  private func refused(
    _ code: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws(UpstreamError) -> UpstreamOutcome
  ) async {
    do throws(UpstreamError) {
      _ = try await body()
      Issue.record("accepted", sourceLocation: sourceLocation)
    } catch { #expect(error.code == code, "\(error)", sourceLocation: sourceLocation) }
  }

  /// An attempt whose ID token is ready.
  private func attempt(in world: UpstreamWorld) async throws -> UpstreamWorld.Attempt {
    let attempt = try await world.begin()
    let token = world.token(["nonce": attempt.nonce])
    world.provider.set { $0.idToken = token }
    return attempt
  }

  @Test func `is of no use with another state, without one, or without its cookie`() async throws {
    let world = try UpstreamWorld()
    let attempt = try await attempt(in: world)
    let other = try await self.attempt(in: world)
    await refused("upstream_invalid") { () async throws(UpstreamError) in
      try await world.finish(attempt, ["state": other.fields["state"] ?? ""])
    }
    await refused("upstream_invalid") { () async throws(UpstreamError) in try await world.finish(attempt, ["state": ""])
    }
    for cookie in [nil, "", "k1.", "k1.AAAA", "k2." + other.start.attempt.dropFirst(3), other.start.attempt] {
      await refused("upstream_invalid") { () async throws(UpstreamError) in
        try await world.signIn.finish(
          attempt.query(), attempt: cookie, boundTo: "browser", at: .init(exactly: world.clock.now))
      }
    }
    #expect(world.provider.requests(to: "/token").isEmpty, "no code was sent anywhere")
  }

  @Test func `belongs to one browser, provider and server, for ten minutes`() async throws {
    let world = try UpstreamWorld()
    let attempt = try await attempt(in: world)
    let sealed = attempt.start.attempt
    await refused("upstream_invalid") { () async throws(UpstreamError) in
      try await world.signIn.finish(
        attempt.query(), attempt: sealed, boundTo: "another", at: .init(exactly: world.clock.now))
    }
    let provider = try UpstreamWorld(world.provider, clock: world.clock, mint: world.mint) { $0.id = "home" }
    let client = try UpstreamWorld(world.provider, clock: world.clock, mint: world.mint) { $0.clientID = "other" }
    for other in [provider, client, try UpstreamWorld(world.provider, clock: world.clock)] {
      await refused("upstream_invalid") { () async throws(UpstreamError) in try await other.finish(attempt) }
    }
    world.clock.advance(by: UpstreamSignIn.life - .milliseconds(1))
    let token = world.token(["nonce": attempt.nonce])
    world.provider.set { $0.idToken = token }
    #expect(try await world.finish(attempt).user.identity.subject == "u-1")
    world.clock.advance(by: .milliseconds(1))
    await refused("upstream_invalid") { () async throws(UpstreamError) in try await world.finish(attempt) }
  }

  /// RFC 9207: a provider that names itself in its responses cannot be mistaken for another.
  @Test func `ends before the code is sent if another provider has answered`() async throws {
    let world = try UpstreamWorld()
    let attempt = try await attempt(in: world)
    for issuer in ["https://evil.example", "https://provider.example/", ""] {
      await refused("upstream_invalid") { () async throws(UpstreamError) in
        try await world.finish(attempt, ["iss": issuer])
      }
    }
    #expect(world.provider.requests(to: "/token").isEmpty)
    // One that does not promise to name itself, and a wrong name all the same.
    let silent = try UpstreamWorld()
    silent.provider.set { $0.metadata["authorization_response_iss_parameter_supported"] = nil }
    let other = try await self.attempt(in: silent)
    await refused("upstream_invalid") { () async throws(UpstreamError) in
      try await silent.finish(other, ["iss": "https://evil.example"])
    }
    #expect(try await silent.finish(other, ["iss": ""]).user.provider == "office")
  }

  @Test func `reports the provider's refusal, and no more of it than a log can show`() async throws {
    let world = try UpstreamWorld()
    let attempt = try await world.begin()
    for (error, shown) in [("access_denied", "access_denied"), ("a\nb \u{1B}[31m", "ab[31m"), ("\n", "no code")] {
      await #expect(throws: UpstreamError.refused(shown)) {
        try await world.finish(attempt, ["code": "", "error": error, "error_description": "secret words"])
      }
    }
    await #expect(throws: UpstreamError.invalid("the context is too long")) {
      try await world.begin(String(repeating: "x", count: UpstreamSignIn.longestContext + 1))
    }
    #expect(
      try await world.begin(String(repeating: "x", count: UpstreamSignIn.longestContext)).start.attempt.utf8.count
        < 3800)
  }

  // MARK: Native tokens

  @Test func `is not needed by an app that has an ID token itself`() async throws {
    let world = try UpstreamWorld { $0.nativeClientIDs = ["org.example.forum"] }
    let nonce = "a nonce of the app, long enough"
    let hash = Hexadecimal.text(SHA256.hash(data: Array(nonce.utf8)))
    func user(_ claim: String, _ nonce: String, _ more: [String: String] = [:]) async throws(UpstreamError) -> String {
      let token = world.token(["nonce": #""\#(claim)""#].merging(more) { $1 })
      return try await world.signIn.user(
        identityToken: Secret(token), nonce: nonce, at: .init(exactly: world.clock.now)
      )
      .user.identity.subject
    }
    #expect(try await user(hash, nonce) == "u-1")
    #expect(try await user(nonce, nonce) == "u-1")
    #expect(try await user(hash, nonce, ["aud": #""org.example.forum""#]) == "u-1")
    // As Google's for Android: for the server, asked for by the app.
    #expect(try await user(hash, nonce, ["azp": #""org.example.forum""#]) == "u-1")
    // Reading a token does not reveal the nonce of a hash.
    await #expect(throws: UpstreamError.self) { try await user(hash, hash) }
    await #expect(throws: UpstreamError.self) { try await user("short", "short") }
    await #expect(throws: UpstreamError.self) { try await user(hash, nonce, ["aud": #""org.example.other""#]) }
    // In the browser, only the client itself counts.
    await #expect(throws: UpstreamError.self) { try await world.outcome(["aud": #""org.example.forum""#]) }
    let token = Secret(world.token(["nonce": #""\#(hash)""#]))
    let used = try await world.signIn.user(identityToken: token, nonce: nonce, at: .init(exactly: world.clock.now))
      .nonce
    #expect(used.purpose == .nonce && used.expiresAt == UnixTime(seconds: world.clock.now.seconds + 120))
  }

  // MARK: Providers without ID tokens

  @Test func `asks GitHub who the user is, and takes the primary address alone`() async throws {
    let provider = ScriptedProvider()
    provider.set {
      $0.answers["/login/oauth/access_token"] = .json(
        #"{"access_token":"gho_1","token_type":"bearer","scope":"read:user,user:email"}"#)
      $0.answers["/user"] = .json(#"{"id":583231,"login":"octocat","name":null,"email":"public@example.org"}"#)
      $0.answers["/user/emails"] = .json(
        #"""
        [{"email":"old@example.org","primary":false,"verified":true},
        {"email":"ada@example.org","primary":true,"verified":true}]
        """#
      )
    }
    let world = try UpstreamWorld(provider) {
      ($0.issuer, $0.scopes, $0.userInfo) = ("https://github.com", ["read:user", "user:email"], .gitHub)
    }
    let attempt = try await world.begin()
    #expect(attempt.start.url.hasPrefix("https://github.com/login/oauth/authorize?") && attempt.fields["nonce"] == nil)
    let user = try await world.finish(attempt, ["iss": ""]).user
    #expect(user.identity == ExternalIdentity(issuer: "https://github.com", subject: "583231"))
    #expect(user.name == "octocat" && user.email?.typed == "ada@example.org" && user.isEmailVerified)
    let asked = try #require(provider.requests(to: "/user").first)
    #expect(asked.url == "https://api.github.com/user" && asked.headers.contains { $0.name == "User-Agent" })
    provider.set {
      $0.answers["/user/emails"] = .json(#"[{"email":"ada@example.org","primary":true,"verified":false}]"#)
    }
    #expect(try await world.finish(attempt, ["iss": ""]).user.isEmailVerified == false)
    provider.set {
      $0.answers["/user/emails"] = .json(#"[{"email":" ada@example.org\n","primary":true,"verified":true}]"#)
    }
    #expect(try await world.finish(attempt, ["iss": ""]).user.email == nil, "more than an address")
    for body in [#"{"login":"octocat"}"#, #"{"id":""}"#, "[]", "no JSON", #"{"id":1.5}"#] {
      provider.set { $0.answers["/user"] = .json(body) }
      await refused("upstream_invalid") { () async throws(UpstreamError) in try await world.finish(attempt, ["iss": ""])
      }
    }
  }

  @Test func `asks Discord, and any other server that its operator describes`() async throws {
    let provider = ScriptedProvider()
    provider.set {
      $0.answers["/token"] = .json(#"{"access_token":"at","token_type":"Bearer"}"#)
      $0.answers["/me"] = .json(#"{"data":{"id":"42","handle":"ada","mail":"ada@example.org","ok":true}}"#)
    }
    var mapping = UserInfoMapping()
    (mapping.id, mapping.names, mapping.email) = ("data.id", ["data.handle"], "data.mail")
    mapping.authorizationEndpoint = "https://provider.example/authorize"
    mapping.tokenEndpoint = "https://provider.example/token"
    mapping.userInfoEndpoint = "https://provider.example/me"
    let described = mapping
    let world = try UpstreamWorld(provider) { ($0.scopes, $0.userInfo) = (["users.read"], described) }
    let user = try await world.finish(try await world.begin(), ["iss": ""]).user
    #expect(user.identity.subject == "42" && user.name == "ada" && user.email?.typed == "ada@example.org")
    #expect(!user.isEmailVerified, "the provider does not say")
    #expect(provider.requests(to: "openid-configuration").isEmpty)

    provider.set {
      $0.metadata = [
        "issuer": #""https://discord.com""#, "authorization_endpoint": #""https://discord.com/oauth2/authorize""#,
        "token_endpoint": #""https://discord.com/api/oauth2/token""#,
      ]
      $0.answers["/api/oauth2/token"] = $0.answers["/token"]
      $0.answers["/api/users/@me"] = .json(
        #"{"id":"80351110224678912","username":"nelly","global_name":null,"email":"nelly@example.org","verified":true}"#
      )
    }
    let discord = try UpstreamWorld(provider) {
      ($0.issuer, $0.scopes, $0.userInfo) = ("https://discord.com", ["identify", "email"], .discord)
    }
    let nelly = try await discord.finish(try await discord.begin(), ["iss": ""]).user
    #expect(nelly.identity.subject == "80351110224678912" && nelly.name == "nelly" && nelly.isEmailVerified)
  }
}
#endif
