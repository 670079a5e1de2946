import Crypto
import Foundation
import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampOAuth

@Suite(.timeLimit(.minutes(10))) struct `A program without a user` {
  private static func client(_ change: (inout OAuthClient) -> Void = { _ in }) -> OAuthClient {
    var client = OAuthClient(issuer: StubServer.issuer, id: "nightly", scopes: ["read", "write"])
    change(&client)
    return client
  }

  /// Answers with numbered tokens.
  private static func server(life: Int = 600, metadata: String = StubServer.metadata()) -> StubServer {
    let server = StubServer(metadata: metadata)
    let count = Locked(0)
    server.on("/token") { _, _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      let json = #"{"access_token":"t\#(number)","token_type":"Bearer","expires_in":\#(life)}"#
      return TransportResponse(status: 200, body: Array(json.utf8))
    }
    return server
  }

  @Test func `sends its grant with scopes and resources, and its secret as the server wants it`() async throws {
    let server = Self.server()
    let client = Self.client {
      $0.secret = Secret("s")
      $0.resources = ["https://api.example.org"]
      $0.parameters = ["audience": "a", "grant_type": "password"]
    }
    let token = try await MachineClient(client, transport: server).token()
    #expect(token == AccessToken("t1"))
    #expect(
      server.forms(to: "/token") == [
        [
          "grant_type": "client_credentials", "scope": "read write", "resource": "https://api.example.org",
          "audience": "a",
        ]
      ])
    #expect(server.requests(to: "/token")[0].headers.first(named: "Authorization")?.hasPrefix("Basic ") == true)
  }

  @Test func `asks once for all tasks, and again before the token ends`() async throws {
    let server = Self.server(life: 100)
    let time = Locked(Duration.zero)
    let machine = MachineClient(
      Self.client { $0.secret = Secret("s") }, transport: server, uptime: { time.withLock { $0 } })
    let tokens = try await withThrowingTaskGroup(of: AccessToken.self) { group in
      for _ in 0..<50 { group.addTask { try await machine.token() } }
      return try await group.reduce(into: Set<AccessToken>()) { $0.insert($1) }
    }
    #expect(tokens == [AccessToken("t1")])
    // A fifth of its life before the end.
    time.withLock { $0 = .milliseconds(79_999) }
    #expect(try await machine.token() == AccessToken("t1"))
    #expect(await machine.remaining == .milliseconds(20_001))
    time.withLock { $0 = .seconds(80) }
    #expect(try await machine.token() == AccessToken("t2"))
    // At most four fifths can be asked for.
    #expect(try await machine.token(validFor: .seconds(3600)) == AccessToken("t2"))
    time.withLock { $0 = .seconds(101) }
    #expect(try await machine.token(validFor: .seconds(3600)) == AccessToken("t3"))
    #expect(server.forms(to: "/token").count == 3)
  }

  @Test func `replaces a token that an API has refused, once`() async throws {
    let server = Self.server()
    let machine = MachineClient(Self.client { $0.secret = Secret("s") }, transport: server)
    let first = try await machine.token()
    #expect(try await machine.token(replacing: first) == AccessToken("t2"))
    #expect(try await machine.token(replacing: first) == AccessToken("t2"))
    #expect(server.forms(to: "/token").count == 2)
  }

  @Test func `keeps a valid token while the server does not answer, and no longer`() async throws {
    let server = Self.server(life: 100)
    let time = Locked(Duration.zero)
    let machine = MachineClient(
      Self.client { $0.secret = Secret("s") }, transport: server, uptime: { time.withLock { $0 } })
    _ = try await machine.token()
    server.on("/token") { _, _ in TransportResponse(status: 503) }
    time.withLock { $0 = .milliseconds(99_999) }
    #expect(try await machine.token() == AccessToken("t1"))
    time.withLock { $0 = .seconds(100) }
    await #expect(throws: SessionError.self) { try await machine.token() }
    server.on("/token", status: 401, json: #"{"error":"invalid_client"}"#)
    let error = await #expect(throws: SessionError.self) { try await machine.token() }
    #expect(error.map { "\($0)".contains("invalid_client") } == true)
  }

  @Test func `presents a fresh assertion for each token`() async throws {
    let server = Self.server()
    let count = Locked(0)
    let machine = MachineClient(
      Self.client(),
      grant: .assertion { () async throws(SessionError) in
        Secret(
          "job-\(count.withLock { count in count += 1; return count })")
      }, transport: server)
    let first = try await machine.token()
    _ = try await machine.token(replacing: first)
    let forms = server.forms(to: "/token")
    #expect(forms.map { $0["assertion"] } == ["job-1", "job-2"])
    #expect(forms.allSatisfy { $0["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer" })
    #expect(forms.allSatisfy { $0["client_id"] == "nightly" })
  }

  @Test(arguments: [
    (#","handstamp_api":"https://id.example.org/v1""#, nil, StubServer.issuer),
    ("", nil, "https://id.example.org/token"), ("", "https://other.example.org", "https://other.example.org"),
  ])
  func `signs an assertion with its key for each request, and sends no secret`(
    _ more: String, _ audience: String?, _ expected: String
  ) async throws {
    let server = Self.server(metadata: StubServer.metadata(more: more))
    let private1 = P256.Signing.PrivateKey()
    let time = OAuthTime(now: { UnixTime(seconds: 1_800_000_000) }, sleep: { _ in })
    var key = try ClientKey(pem: Secret(private1.pemRepresentation), id: "k1")
    key.audience = audience
    let machine = MachineClient(
      Self.client {
        $0.key = key
        $0.secret = Secret("unused")
      }, transport: server, time: time)
    let first = try await machine.token()
    _ = try await machine.token(replacing: first)
    let forms = server.forms(to: "/token")
    #expect(forms.allSatisfy { $0["client_secret"] == nil && $0["client_id"] == "nightly" })
    #expect(
      server.requests(to: "/token").allSatisfy { $0.headers.first(named: "Authorization") == nil })
    let assertions = forms.compactMap { $0["client_assertion"] }
    #expect(Set(assertions).count == 2, "a server accepts each once")
    let parts = assertions[0].split(separator: ".").map(String.init)
    let signature = try P256.Signing.ECDSASignature(
      rawRepresentation: #require(Base64URL.decode(parts[2])))
    #expect(private1.publicKey.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
    let header = try #require(Base64URL.decode(parts[0]).flatMap { JSONValue($0) })
    #expect(header["alg"]?.string == "ES256" && header["kid"]?.string == "k1")
    let claims = try #require(Base64URL.decode(parts[1]).flatMap { JSONValue($0) })
    #expect(claims["iss"]?.string == "nightly" && claims["sub"]?.string == "nightly")
    #expect(claims["aud"]?.string == expected)
    #expect(claims["exp"]?.integer == 1_800_000_060)
  }

  @Test func `does not take another key for its own`() throws {
    #expect(throws: SessionError.self) { try ClientKey(pem: Secret("-----BEGIN PRIVATE KEY-----\nx")) }
    let key = P256.Signing.PrivateKey()
    #expect(ClientKey(key) == ClientKey(key))
    #expect(ClientKey(key) != ClientKey(P256.Signing.PrivateKey()))
    #expect(ClientKey(key) != ClientKey(key, id: "k"))
    #expect("\(ClientKey(key))" == "ES256 client key")
  }
}
