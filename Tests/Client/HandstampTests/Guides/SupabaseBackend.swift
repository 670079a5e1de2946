import Foundation
import Handstamp

/// Supabase Auth (GoTrue) with passwords. It rotates refresh tokens and knows no rotation keys.
struct SupabaseBackend: Backend {
  /// Such as `https://abcdefghijklmnopqrst.supabase.co`.
  let project: URL
  /// The publishable key, or the older anon key.
  let apiKey: String
  let transport: any Transport

  /// The predecessor of the token in use is accepted at any time. A sign-out ends the session with the newest token.
  var abilities: BackendAbilities {
    BackendAbilities(
      reuse: .predecessor, issuer: project.absoluteString, revokesRefreshTokens: true)
  }

  @concurrent func signIn(email: String, password: Secret) async throws(SessionError) -> TokenResponse {
    try await SignInTurn.take(by: .password, as: email)
    let response = await post(
      "token?grant_type=password", ["email": Secret(email), "password": password], timeout: .seconds(20))
    if let tokens = response.body?.tokens { return tokens }
    if let code = response.refusal { throw .refused(code: code, detail: response.body?.message) }
    throw .requestFailed(response.failure, retryAfter: response.retryAfter)
  }

  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult {
    // Longer than a refresh may take: the session cancels it.
    let response = await post(
      "token?grant_type=refresh_token", ["refresh_token": request.token.secret], timeout: .seconds(90))
    if let tokens = response.body?.tokens { return .granted(tokens) }
    if let code = response.refusal, SupabaseBackend.ends.contains(code) { return .rejected(.rejected) }
    return .noDecision(response.failure, retryAfter: response.retryAfter)
  }

  /// A logout needs an access token that has not expired, perhaps days later: the handle is the refresh token, which gets one.
  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    let response = await post(
      "token?grant_type=refresh_token", ["refresh_token": handle.secret], timeout: .seconds(90))
    if let code = response.refusal, SupabaseBackend.ends.contains(code) { return .ended }
    guard let tokens = response.body?.tokens else { return .noDecision(response.failure) }
    let logout = await post("logout?scope=local", [:], token: tokens.tokens.access, timeout: .seconds(20))
    let hasEnded = logout.status == 204 || logout.refusal == "session_not_found"
    return hasEnded ? .ended : .noDecision(logout.failure)
  }

  /// The error codes after which a refresh token is never accepted again. A token older than the predecessor is accepted within
  /// the project's reuse interval; after that, it ends the session at the server.
  private static let ends: Set = [
    "refresh_token_not_found", "refresh_token_already_used", "session_not_found", "session_expired", "user_not_found",
    "user_banned",
  ]

  private func post(
    _ path: String, _ fields: [String: Secret], token: AccessToken? = nil, timeout: Duration
  ) async -> Response {
    let body = fields.mapValues { $0.withExposed { $0 } }
    var headers = [
      HeaderField("apikey", apiKey), HeaderField("Content-Type", "application/json"),
      HeaderField("X-Supabase-Api-Version", "2024-01-01"),  // errors with a string as their code
    ]
    if let token { headers.append(HeaderField("Authorization", token.secret.withExposed { "Bearer " + $0 })) }
    let request = TransportRequest(
      method: "POST", url: "\(project.absoluteString)/auth/v1/\(path)", headers: headers,
      body: Array((try? JSONEncoder().encode(body)) ?? Data()), timeout: timeout, mayReuseConnection: false)
    do throws(TransportError) {
      return Response(try await transport.send(request))
    } catch {
      return Response(status: 0, failure: .network(error))
    }
  }

  private struct Response {
    var status: Int
    var body: Body?
    var failure: RequestError
    var retryAfter: Duration?

    init(status: Int, failure: RequestError) {
      self.status = status
      self.failure = failure
    }

    init(_ response: TransportResponse) {
      status = response.status
      body = try? JSONDecoder().decode(Body.self, from: Data(response.body))
      failure = .server(.init(status: status, error: body?.code, detail: body?.message))
      retryAfter = response.header("Retry-After").flatMap { Int64($0) }.map { .seconds($0) }
    }

    /// The code, where the server decided: a 408, 425, 429 or 5xx decides nothing.
    var refusal: String? {
      (400..<500).contains(status) && ![408, 425, 429].contains(status) ? body?.code : nil
    }
  }

  private struct Body: Decodable {
    struct User: Decodable {
      var id: String
      var email: String?
      var is_anonymous: Bool?
    }
    var access_token: String?
    var expires_in: Int?
    var refresh_token: String?
    var user: User?
    var code: String?
    var message: String?

    var tokens: TokenResponse? {
      guard let access_token else { return nil }
      let profile = user.map {
        Profile(id: AccountID($0.id), name: $0.email ?? $0.id, isAnonymous: $0.is_anonymous ?? false)
      }
      return TokenResponse(
        tokens: TokenSet(
          access: AccessToken(access_token), expiresIn: expires_in.map { .seconds($0) },
          refresh: refresh_token.map { RefreshToken($0) }),
        profile: profile)
    }
  }
}
