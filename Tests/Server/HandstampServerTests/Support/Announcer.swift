#if Programs
import CryptoExtras
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

/// A provider that announces ends: its metadata and keys, and tokens, good or bad.
struct Announcer {
  static let issuer = "https://up.example"
  static let metadata = """
    {"issuer":"\(issuer)","authorization_endpoint":"\(issuer)/authorize","token_endpoint":"\(issuer)/token",\
    "jwks_uri":"\(issuer)/keys"}
    """
  static let logout = #"{"http://schemas.openid.net/event/backchannel-logout":{}}"#

  let key = JWSPrivateKey.es256()
  let transport: ScriptedTransport

  init() {
    transport = ScriptedTransport([
      "GET /.well-known/openid-configuration": Announcer.metadata, "GET /keys": key.jwks,
    ])
  }

  static func event(_ type: SecurityEventType, _ members: String = "") -> String {
    #"{"\#(type.rawValue)":{\#(members)}}"#
  }

  /// A security event token about Ada.
  func event(_ events: String, at now: UnixTime, id: String? = nil) -> SignedAssertion {
    var token = SignedAssertion(of: Announcer.issuer, by: key, at: now)
    token.header["typ"] = #""secevent+jwt""#
    token.claims["aud"] = #""forum""#
    token.claims["exp"] = ""
    token.claims["sub"] = ""
    token.claims["sub_id"] = #"{"format":"iss_sub","iss":"\#(Announcer.issuer)","sub":"ada"}"#
    token.claims["events"] = events
    if let id { token.claims["jti"] = #""\#(id)""# }
    return token
  }

  /// A logout token about a session of Ada's.
  func logout(_ sid: String? = "s1", at now: UnixTime) -> SignedAssertion {
    var token = event(Announcer.logout, at: now)
    token.header["typ"] = #""logout+jwt""#
    token.claims["exp"] = "\(now.seconds + 120)"
    token.claims["sub_id"] = ""
    token.claims["sub"] = #""ada""#
    token.claims["sid"] = sid.map { #""\#($0)""# } ?? ""
    return token
  }

  static func run(
    apple: AppleSignIn? = nil, _ configure: (inout ServerConfiguration, inout UpstreamProvider) -> Void = { _, _ in },
    body: (TestServer, Announcer) async throws -> Void
  ) async throws {
    let announcer = Announcer()
    try await TestServer.run(apple: apple, transport: announcer.transport) {
      var provider = UpstreamProvider(id: "up", name: "Up", issuer: issuer, clientID: "forum")
      configure(&$0, &provider)
      $0.providers = [provider]
    } body: { test in
      try await body(test, announcer)
    }
  }
}

extension TestServer {
  /// A session of an app that began by a provider's user.
  func begin(
    _ device: String = "phone", sid: String? = "s1", as subject: String = "ada", at issuer: String = Announcer.issuer
  ) async throws -> (id: SessionID, access: String) {
    let new = try await beginUnused(device, sid: sid, as: subject, at: issuer)
    let access: String = try #require(try await refresh(token(of: new), key: .fresh).json["access_token"])
    return (new.row.id, access)
  }

  /// The first refresh token of a session.
  func token(of new: NewSession) -> String {
    server.registry.mint.refreshToken(new.token).secret.withExposed { $0 }
  }

  /// The same, of an app that has only received its tokens.
  func beginUnused(
    _ device: String, sid: String? = "s1", as subject: String = "ada", at issuer: String = Announcer.issuer
  ) async throws -> NewSession {
    let (registry, identity) = (server.registry, ExternalIdentity(issuer: issuer, subject: subject))
    let proof = IdentityProof(identity, provider: "up", label: "", session: sid, authenticatedAt: clock.now)
    let use: CredentialUse
    if let known = try await registry.account(identity: identity) {
      use = try #require(try await registry.credentialUse(by: proof, of: known, now: clock.now))
    } else {
      use = registry.credentialUse(opening: proof, email: nil, username: "Ada", now: clock.now)
    }
    return try await registry.createSession(
      by: use, SessionStart(device: DeviceInfo(id: DeviceID(device), name: device, platform: "ios")), now: clock.now)
  }

  func push(_ token: String, type: String = "application/secevent+jwt") async throws -> WireClient.Answer {
    try await client.send(
      "POST", "/sign-in/with/up/events", headers: ["Content-Type": type], body: Array(token.utf8))
  }

  func logout(_ token: String) async throws -> WireClient.Answer {
    try await client.post("/sign-in/with/up/logout", form: "logout_token=\(token)")
  }

  /// Why requests with an access token are refused; `nil` if they are not.
  func end(of access: String) async throws -> String? {
    try await client.get("/v1/me", token: access).json["reason"]
  }
}
#endif
