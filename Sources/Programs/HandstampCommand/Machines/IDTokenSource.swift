#if Command
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampSupport

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
