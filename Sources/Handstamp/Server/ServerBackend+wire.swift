import Foundation
import HandstampCore

private struct TokenAnswer: Decodable {
  struct Person: Decodable {
    var id: AccountID
    var name: String
    var is_anonymous: Bool?
  }
  var access_token: String
  var token_type: String
  var expires_in: Double?
  var refresh_token: String?
  var session_id: SessionID?
  var revocation_handle: String?
  var profile: Person?
}

private struct TokenRefusal: Decodable {
  var error: String?
  var error_code: String?
  var reason: String?
}

extension Grant {
  init(signIn body: [UInt8]) throws(SessionError) {
    try self.init(refresh: body)
    guard session != nil, profile != nil else { throw .invalidAnswer("a sign-in without session_id or profile") }
  }

  /// Reads the answer of a token endpoint (RFC 6749 section 5.1).
  init(refresh body: [UInt8]) throws(SessionError) {
    guard let answer = try? JSONDecoder().decode(TokenAnswer.self, from: Data(body)) else {
      throw .invalidAnswer("the token endpoint's answer is not readable")
    }
    guard answer.token_type.lowercased() == "bearer" else { throw .invalidAnswer("tokens of an unknown type") }
    for text in [answer.access_token, answer.refresh_token, answer.revocation_handle].compactMap({ $0 }) {
      // Printable ASCII (RFC 6750 section 2.1); anything else could break out of a header.
      guard !text.isEmpty, text.utf8.allSatisfy({ (33...126).contains($0) }) else {
        throw .invalidAnswer("a token with characters that none may have")
      }
    }
    let life = answer.expires_in.flatMap { $0.isFinite && $0 >= 0 ? Duration.seconds(min($0, 1e9)) : nil }
    self.init(
      tokens: TokenSet(
        access: AccessToken(answer.access_token), life: life, refresh: answer.refresh_token.map { RefreshToken($0) }),
      session: answer.session_id,
      profile: answer.profile.map { Profile(id: $0.id, name: $0.name, isAnonymous: $0.is_anonymous ?? false) },
      revocation: answer.revocation_handle.map { RevocationHandle($0) })
  }
}

extension SessionError {
  /// What an answer of the token endpoint other than 200 means. The closed list of the refresh protocol: only
  /// `invalid_grant` in a JSON body with 400 or 401 decides anything.
  init(tokenAnswer response: TransportResponse) {
    let refusal = try? JSONDecoder().decode(TokenRefusal.self, from: Data(response.body))
    guard response.status == 400 || response.status == 401, refusal?.error == "invalid_grant" else {
      self = .unreachable(retryAfter: response.retryAfter)
      return
    }
    if refusal?.error_code == "superseded" {
      self = .rolledBack
    } else {
      self = .rejected(refusal?.reason.flatMap { EndReason(rawValue: $0) } ?? .rejected)
    }
  }

  /// What an answer of the JSON API other than 2xx means.
  init(refusal response: TransportResponse) {
    switch response.status {
    case 429, 500...: self = .unreachable(retryAfter: response.retryAfter)
    default:
      guard let problem = try? JSONDecoder().decode(Problem.self, from: Data(response.body)), let code = problem.code
      else {
        self = .invalidAnswer("status \(response.status) without a problem document")
        return
      }
      // About the access token, not about what was asked. The session's end is told where it is refreshed.
      if response.status == 401, code == "session_ended" || code.hasPrefix("token_") {
        self = .tokenRefused
        return
      }
      if code == "not_offered" {
        self = .unsupported(problem.title ?? "this")
        return
      }
      self = .refused(code: code, detail: problem.detail ?? problem.title)
    }
  }
}

extension TransportResponse {
  /// `Retry-After` in seconds (RFC 9110 section 10.2.3); the form with a date is not used by token endpoints.
  var retryAfter: Duration? {
    header("Retry-After").flatMap { Int64($0) }.flatMap { $0 >= 0 ? .seconds(min($0, 86_400)) : nil }
  }
}
