#if Programs
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport

@testable import HandstampServer

/// A provider as the server's requests see it: each of its answers can be that of a hostile or broken one.
final class ScriptedProvider: Transport {
  static let issuer = "https://provider.example"
  static let key = JWSPrivateKey.es256()

  struct State: Sendable {
    /// Members of the metadata as JSON texts.
    var metadata: [String: String] = [
      "issuer": #""https://provider.example""#, "authorization_endpoint": #""https://provider.example/authorize""#,
      "token_endpoint": #""https://provider.example/token""#, "userinfo_endpoint": #""https://provider.example/me""#,
      "jwks_uri": #""https://provider.example/keys""#, "authorization_response_iss_parameter_supported": "true",
      "end_session_endpoint": #""https://provider.example/logout""#,
    ]
    var keys = ScriptedProvider.key.jwks
    var idToken = ""
    /// Whole responses by path, in place of the usual ones.
    var answers: [String: TransportResponse] = [:]
    var requests: [TransportRequest] = []
  }

  private let state = Locked(State())

  func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }
  var requests: [TransportRequest] { state.withLock { $0.requests } }
  func requests(to path: String) -> [TransportRequest] { requests.filter { $0.url.hasSuffix(path) } }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let answer = state.withLock { state in
      state.requests.append(request)
      return ScriptedProvider.answer(URLComponents(string: request.url)?.path ?? "", state)
    }
    guard answer.body.count <= request.maximumResponseSize else { throw .tooLarge }
    return answer
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .invalidRequest("no streams")
  }

  private static func answer(_ path: String, _ state: State) -> TransportResponse {
    if let answer = state.answers[path] { return answer }
    switch path {
    case "/.well-known/openid-configuration":
      return .json("{" + state.metadata.map { #""\#($0.key)":\#($0.value)"# }.joined(separator: ",") + "}")
    case "/keys": return .json(state.keys)
    case "/token":
      return .json(
        #"{"access_token":"at-secret","token_type":"Bearer","refresh_token":"rt-secret","id_token":"\#(state.idToken)"}"#
      )
    case "/me":
      return .json(#"{"sub":"u-1","name":"Ada at the provider","email":"ada@example.org","email_verified":"true"}"#)
    default: return TransportResponse(status: 404)
    }
  }
}

extension TransportResponse {
  static func json(_ text: String, status: Int = 200) -> TransportResponse {
    TransportResponse(
      status: status, headers: [HeaderField("Content-Type", "application/json")], body: Array(text.utf8))
  }
}

/// A server that signs users in at a scripted provider.
struct UpstreamWorld: Sendable {
  let provider: ScriptedProvider
  let clock: TestClock
  let mint: TokenMint
  var signIn: UpstreamSignIn

  init(
    _ provider: ScriptedProvider = ScriptedProvider(), clock: TestClock = TestClock(), mint: TokenMint? = nil,
    _ configure: (inout UpstreamProvider) -> Void = { _ in }
  ) throws {
    var settings = UpstreamProvider(
      id: "office", name: "Work", issuer: ScriptedProvider.issuer, clientID: "forum",
      clientSecret: Secret("client-secret"))
    configure(&settings)
    var random = SystemRandomNumberGenerator()
    self.provider = provider
    self.clock = clock
    self.mint = try mint ?? TokenMint(MasterKeys(drawing: KeyID("k1"), from: &random))
    signIn = UpstreamSignIn(
      settings, base: "https://forum.example.org", mint: self.mint, transport: provider, now: { clock.now })
  }

  /// An ID token; claims and header members are JSON texts, and empty ones are left out.
  func token(
    _ changes: [String: String] = [:], header: [String: String] = [:], by key: JWSPrivateKey = ScriptedProvider.key
  ) -> String {
    assertion(by: key).text(claims(changes), header: header)
  }

  func assertion(by key: JWSPrivateKey = ScriptedProvider.key) -> SignedAssertion {
    SignedAssertion(of: ScriptedProvider.issuer, by: key, at: clock.now)
  }

  func claims(_ changes: [String: String]) -> [String: String] {
    ["sub": #""u-1""#, "aud": #""forum""#].merging(changes) { $1 }
  }

  /// A sign-in up to the redirect back.
  struct Attempt: Sendable {
    var start: UpstreamSignIn.Start
    var fields: [String: String]

    var nonce: String { #""\#(fields["nonce"] ?? "")""# }
    func query(_ changes: [String: String] = [:]) -> String {
      let usual = ["code": "code-secret", "state": fields["state"] ?? "", "iss": ScriptedProvider.issuer]
      return usual.merging(changes) { $1 }.filter { !$0.value.isEmpty }
        .map { $0.key + "=" + PercentEncoding.encode($0.value) }.joined(separator: "&")
    }
  }

  func begin(_ context: String = "/notes") async throws(UpstreamError) -> Attempt {
    let start = try await signIn.begin(for: context, boundTo: "browser", parameters: ["prompt": "login"], at: clock.now)
    let items = URLComponents(string: start.url)?.queryItems ?? []
    return Attempt(start: start, fields: Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 })
  }

  func finish(
    _ attempt: Attempt, _ query: [String: String] = [:], at time: ServerClock.Reading? = nil
  ) async throws(UpstreamError) -> UpstreamOutcome {
    try await signIn.finish(
      attempt.query(query), attempt: attempt.start.attempt, boundTo: "browser",
      at: time ?? ServerClock.Reading(exactly: clock.now))
  }

  /// A whole sign-in.
  func outcome(_ changes: [String: String] = [:]) async throws(UpstreamError) -> UpstreamOutcome {
    let attempt = try await begin()
    let text = token(["nonce": attempt.nonce].merging(changes) { $1 })
    provider.set { $0.idToken = text }
    return try await finish(attempt)
  }
}
#endif
