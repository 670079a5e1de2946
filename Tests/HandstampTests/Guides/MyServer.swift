import Foundation
import Handstamp

/// `POST /sign-in`, `/refresh` and `/sign-out` answer with JSON: 200 and tokens, or 401 and `{"code": "…"}`.
struct MyServer: Backend {
  let url: URL
  let transport: any Transport

  /// No rotation keys; a 401 of this server with the code `session_ended` ends the session.
  var abilities: BackendAbilities {
    BackendAbilities(
      sessionEndingOrigin: url.absoluteString, issuer: url.absoluteString, revokesRefreshTokens: true)
  }

  @concurrent func signIn(email: String, password: Secret) async throws(SessionError) -> TokenResponse {
    try await SignInTurn.take()  // one sign-in at a time, across all processes
    let (json, failure) = await post("sign-in", ["email": email, "password": password.withExposed { $0 }])
    if let tokens = tokens(json) { return tokens }
    throw (json["code"] as? String).map { .refused(code: $0, detail: nil) } ?? .requestFailed(failure)
  }

  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult {
    let (json, failure) = await post("refresh", ["refresh": request.token.secret.withExposed { $0 }])
    if let tokens = tokens(json) { return .granted(tokens) }
    return json["code"] as? String == "session_ended" ? .rejected(.rejected) : .noDecision(failure)
  }

  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    let (json, failure) = await post("sign-out", ["refresh": handle.secret.withExposed { $0 }])
    return json["ok"] as? Bool == true || json["code"] as? String == "session_ended" ? .ended : .noDecision(failure)
  }

  /// - Returns: The response's JSON, and the failure for the case that it decides nothing.
  private func post(_ path: String, _ fields: [String: String]) async -> ([String: Any], RequestError) {
    // A refresh token must not be sent twice: over a connection of its own, and with a long wait.
    let request = TransportRequest(
      method: "POST", url: url.appending(path: path).absoluteString,
      headers: [.init("Content-Type", "application/json")], body: Array((try? JSONEncoder().encode(fields)) ?? Data()),
      timeout: .seconds(path == "refresh" ? 90 : 20), mayReuseConnection: path != "refresh")
    do throws(TransportError) {
      let response = try await transport.send(request)
      let json = (try? JSONSerialization.jsonObject(with: Data(response.body))) as? [String: Any] ?? [:]
      return ([200, 401].contains(response.status) ? json : [:], .server(.init(status: response.status)))
    } catch { return ([:], .network(error)) }
  }

  private func tokens(_ json: [String: Any]) -> TokenResponse? {
    guard let access = json["access"] as? String else { return nil }
    // A refresh may leave the refresh token as it is, and say nothing of it.
    let refresh = (json["refresh"] as? String).map { RefreshToken($0) }
    let lifetime = (json["expires_in"] as? Int).map { Duration.seconds($0) }
    let profile = (json["user"] as? String).map { Profile(id: AccountID($0), name: $0) }
    let tokens = TokenSet(access: AccessToken(access), expiresIn: lifetime, refresh: refresh)
    return TokenResponse(tokens: tokens, profile: profile)
  }
}
