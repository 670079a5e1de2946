import Foundation
import HandstampCore

extension TokenResponse {
  init(signIn body: [UInt8]) throws(SessionError) {
    try self.init(refresh: body)
    guard sessionID != nil, profile != nil else {
      throw .invalidResponse("the sign-in response has no session_id or profile")
    }
  }

  /// Parses the response of a token endpoint (RFC 6749 section 5.1).
  ///
  /// - Throws: ``SessionError/invalidResponse(_:)``.
  init(refresh body: [UInt8]) throws(SessionError) {
    guard let response = try? JSONDecoder().decode(TokenResponseBody.self, from: Data(body)) else {
      throw .invalidResponse("not a token response")
    }
    guard response.token_type?.lowercased() == "bearer" else { throw .invalidResponse("unknown token_type") }
    guard response.hasValidTokens else { throw .invalidResponse("a token contains an invalid character") }
    self.init(
      tokens: response.tokens,
      sessionID: response.session_id,
      profile: response.profile,
      revocation: response.revocation_handle.map { RevocationHandle($0) })
  }
}

extension RefreshResult {
  /// Maps the token endpoint's response to a refresh, by the closed list of the refresh protocol: only `invalid_grant` in a
  /// JSON body with 400 or 401 decides anything.
  init(_ response: TransportResponse) {
    if response.status == 200 {
      do throws(SessionError) { self = .granted(try TokenResponse(refresh: response.body)) } catch {
        let reason = if case .invalidResponse(let words) = error { words } else { "\(error)" }
        let isObject = (try? JSONSerialization.jsonObject(with: Data(response.body))) is [String: Any]
        self = .noDecision(
          isObject
            ? .unusableTokens(reason, successor: nil)
            : .server(.init(status: response.status, detail: "not a token response")))
      }
      return
    }
    let refusal = try? JSONDecoder().decode(TokenRefusal.self, from: Data(response.body))
    guard response.status == 400 || response.status == 401, let refusal, refusal.error == "invalid_grant" else {
      let server = RequestError.ServerResponse(
        response, error: refusal?.error, detail: refusal?.error_description)
      self = .noDecision(RequestError(server), retryAfter: response.retryDelay())
      return
    }
    self.init(end: refusal)
  }
}

extension SessionError {
  /// Maps a response of the JSON API other than 2xx.
  init(refusal response: TransportResponse) {
    let problem = try? JSONDecoder().decode(Problem.self, from: Data(response.body))
    switch response.status {
    case 429, 500...:
      let server = RequestError.ServerResponse(
        status: response.status, error: problem?.code, detail: problem?.detail ?? problem?.title)
      self = .requestFailed(.server(server), retryAfter: response.retryDelay())
    default:
      guard let problem, let code = problem.code else {
        self = .invalidResponse("status \(response.status) without a problem document")
        return
      }
      switch (response.status, code) {
      case (401, "session_ended"): self = .sessionEnded(EndReason(reported: problem.reason, at: problem.provider))
      // This concerns the access token, not the request.
      case (401, _) where code.hasPrefix("token_"): self = .tokenRejected
      case (_, "not_offered"): self = .unsupported(problem.title ?? "this feature")
      default: self = .refused(code: code, detail: problem.detail ?? problem.title)
      }
    }
  }
}

extension TransportResponse {
  /// Returns the content of a success.
  ///
  /// - Parameter flaw: what the error says of any other content.
  func content<Content: Decodable>(_ type: Content.Type, else flaw: String) throws(SessionError) -> Content {
    guard (200..<300).contains(status) else { throw SessionError(refusal: self) }
    guard let content = try? JSONDecoder().decode(type, from: Data(body)) else { throw .invalidResponse(flaw) }
    return content
  }
}
