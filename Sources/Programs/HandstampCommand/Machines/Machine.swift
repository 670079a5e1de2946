#if Command
import ArgumentParser
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampOAuth
import HandstampSupport

/// A program that uses a token of its own, and its server.
struct Machine: Sendable {
  let client: MachineClient
  let server: ServerAddress

  /// Returns a valid token.
  ///
  /// - Parameter rejected: a token that an API has refused.
  func token(
    validFor life: Duration = .zero, replacing rejected: AccessToken? = nil
  ) async throws(CommandError) -> AccessToken {
    do throws(SessionError) {
      return try await WaitLine.shared.during(server.text) { () async throws(SessionError) in
        try await client.token(validFor: life, replacing: rejected)
      }
    } catch { throw refusal(error) }
  }

  /// Sends a request with a token, and once more with another one if that is refused.
  func respond(to request: TransportRequest) async throws(CommandError) -> TransportResponse {
    let token = try await token()
    let response = try await send(request, with: token)
    guard response.status == 401 else { return response }
    return try await send(request, with: try await self.token(replacing: token))
  }

  private func send(
    _ request: TransportRequest, with token: AccessToken
  ) async throws(CommandError) -> TransportResponse {
    let request = request.authorized(by: token)
    do throws(TransportError) {
      return try await WaitLine.shared.during(request.url) { () async throws(TransportError) in
        try await CommandTransport.shared.send(request)
      }
    } catch {
      throw CommandError(.network(error), server: Origin(request.url).map { ServerAddress(listed: $0.text) } ?? server)
    }
  }

  /// Returns a valid token for another program.
  func handedToken(lasting validity: Duration) async throws(CommandError) -> HandedToken {
    let token = try await token(validFor: validity)
    let left = await client.remaining
    return HandedToken(
      secret: token.secret, source: "client", end: left.map { SystemClock().now().wall.advanced(by: $0) })
  }

  /// No sign-in helps: the client has to change, here or at the server.
  private func refusal(_ error: SessionError) -> CommandError {
    let (code, detail): (String, String?)
    switch error {
    case .refused(let named, let words): (code, detail) = (named, words)
    case .requestFailed(.configuration(let response), _):
      (code, detail) = (response.error ?? "invalid_request", response.detail)
    default: return CommandError(error, server: server)
    }
    if code == IDTokenSource.missing {
      return CommandError(.configuration, detail ?? code, hint: IDTokenSource.hint)
    }
    let words = plain(detail.map { "\(code), \($0)" } ?? code)
    return CommandError(
      .configuration, "\(server.text) refused the client \(client.client.id.onOneLine): \(words)", hint: hint(of: code),
      code: code)
  }

  private func hint(of code: String) -> String {
    switch code {
    case "invalid_client": "compare --client-id, and the secret or the key, with the client's registration"
    case "unauthorized_client", "unsupported_grant_type": "allow this client tokens of its own at the server"
    case "invalid_grant": "compare the job's claims and --ci-audience with the rules of the client at the server"
    case "invalid_scope": "use --scope with scopes that the client may have"
    case "invalid_target": "use --resource with an API that the client may have tokens for"
    default: "compare the client's registration at the server"
    }
  }
}

/// A CI that signs ID tokens for its jobs.
enum CIProvider: String, Sendable, CaseIterable, ExpressibleByArgument {
  case github, gitlab
}

/// The ID token of the job that this command runs in.
struct IDTokenSource: Sendable {
  let provider: CIProvider
  /// The `aud` to ask for.
  let audience: String

  /// Returns a token: a new one at GitHub, that of the job at GitLab.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` without a token, ``SessionError/requestFailed(_:retryAfter:)`` if GitHub cannot be
  ///   reached.
  @Sendable func token() async throws(SessionError) -> Secret {
    switch provider {
    case .github: try await askGitHub()
    case .gitlab: try given()
    }
  }

  /// GitLab puts it into the variable that the job's `id_tokens` names.
  private func given() throws(SessionError) -> Secret {
    guard let text = ProcessEnvironment[IDTokenSource.variable], Secret(text).isToken else {
      throw .refused(code: IDTokenSource.missing, detail: "\(IDTokenSource.variable) is not set to an ID token")
    }
    return Secret(text)
  }

  /// Asks the address that GitHub gives to jobs with the permission `id-token: write`.
  private func askGitHub() async throws(SessionError) -> Secret {
    guard let url = ProcessEnvironment["ACTIONS_ID_TOKEN_REQUEST_URL"], Origin(url)?.isTrustworthy == true,
      let token = ProcessEnvironment["ACTIONS_ID_TOKEN_REQUEST_TOKEN"], Secret(token).isToken
    else {
      throw .refused(code: IDTokenSource.missing, detail: "this job has no way to an ID token of GitHub")
    }
    let address = url + (url.contains("?") ? "&" : "?") + "audience=" + PercentEncoding.encode(audience)
    let response: TransportResponse
    do throws(TransportError) {
      response = try await CommandTransport.shared.send(
        TransportRequest(
          method: "GET", url: address, headers: [HeaderField("Accept", "application/json"), .bearer(Secret(token))],
          maximumResponseSize: 1 << 20))
    } catch { throw .requestFailed(.network(error)) }
    guard response.status == 200 else {
      throw .refused(code: IDTokenSource.missing, detail: "no ID token: GitHub answered \(response.status)")
    }
    struct Body: Decodable { var value: String }
    guard let value = try? JSONDecoder().decode(Body.self, from: Data(response.body)).value, Secret(value).isToken
    else {
      throw .refused(code: IDTokenSource.missing, detail: "no ID token in the response of GitHub")
    }
    return Secret(value)
  }

  private static let variable = "HANDSTAMP_ID_TOKEN"
  /// The code of a refusal that has nothing to do with the server.
  static let missing = "no_id_token"
  static let hint =
    "at GitHub, give the job permissions: id-token: write; at GitLab, set id_tokens: \(variable): aud: to the client ID"
}
#endif
