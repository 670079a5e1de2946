import Foundation
import Handstamp

/// `POST /sign-in` and `/refresh` answer 200 with tokens, `/sign-out` 204; refusals are 4xx with `{"code": "…"}`.
/// Refresh tokens rotate.
struct MyServer: Backend {
  let url: URL
  let transport: any Transport

  /// No rotation keys, and no `reuse:`: a replaced refresh token may be refused at once.
  var abilities: BackendAbilities { BackendAbilities(issuer: url.absoluteString, revokesRefreshTokens: true) }

  @concurrent func signIn(
    email: String, password: Secret, code: Secret? = nil
  ) async throws(SessionError) -> TokenResponse {
    try await SignInTurn.take(by: .password, as: email)  // one sign-in at a time, across all processes
    let response = await post("sign-in", ["email": email, "password": password.withExposed { $0 }])
    if let tokens = response.tokens { return tokens }
    if let code = response.refusal { throw .refused(code: MyServer.known[code] ?? code, detail: nil) }
    throw .requestFailed(response.failure, retryAfter: response.retryAfter)
  }

  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult {
    let response = await post("refresh", ["refresh": request.token.secret.withExposed { $0 }])
    if let tokens = response.tokens { return .granted(tokens) }
    return response.saysTheEnd ? .rejected(.rejected) : .noDecision(response.failure, retryAfter: response.retryAfter)
  }

  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    let response = await post("sign-out", ["refresh": handle.secret.withExposed { $0 }])
    return response.status == 204 || response.saysTheEnd ? .ended : .noDecision(response.failure)
  }

  /// The codes after which a refresh token is never accepted again.
  private static let ends: Set = ["invalid_refresh_token", "session_expired"]
  /// Codes for which `Wording` has a text, by this server's.
  private static let known = ["bad_login": "wrong_credentials"]

  private func post(_ path: String, _ fields: [String: String]) async -> Response {
    // A refresh token must not be sent twice: over a connection of its own, and with a long wait.
    let request = TransportRequest(
      method: "POST", url: url.appending(path: path).absoluteString,
      headers: [HeaderField("Content-Type", "application/json")],
      body: Array((try? JSONEncoder().encode(fields)) ?? Data()),
      timeout: .seconds(path == "refresh" ? 90 : 20), mayReuseConnection: path != "refresh")
    do throws(TransportError) {
      return Response(try await transport.send(request))
    } catch { return Response(failure: .network(error)) }
  }

  private struct Response {
    var (status, json): (Int, [String: Any]) = (0, [:])
    var failure: RequestError
    var retryAfter: Duration?

    init(failure: RequestError) { self.failure = failure }

    init(_ response: TransportResponse) {
      status = response.status
      json = (try? JSONSerialization.jsonObject(with: Data(response.body))) as? [String: Any] ?? [:]
      failure = .server(.init(status: status, error: json["code"] as? String))
      retryAfter = response.header("Retry-After").flatMap { Int64($0) }.map { .seconds($0) }
    }

    /// The code, where the server decided: a 408, 425, 429 or 5xx decides nothing.
    var refusal: String? {
      (400..<500).contains(status) && ![408, 425, 429].contains(status) ? json["code"] as? String : nil
    }
    var saysTheEnd: Bool { refusal.map(MyServer.ends.contains) ?? false }

    var tokens: TokenResponse? {
      guard status == 200, let access = json["access"] as? String else { return nil }
      // A refresh may leave the refresh token as it is, and say nothing of it.
      let refresh = (json["refresh"] as? String).map { RefreshToken($0) }
      let lifetime = (json["expires_in"] as? Int).map { Duration.seconds($0) }
      let set = TokenSet(access: AccessToken(access), expiresIn: lifetime, refresh: refresh)
      return TokenResponse(tokens: set, profile: (json["user"] as? String).map { Profile(id: AccountID($0), name: $0) })
    }
  }
}
