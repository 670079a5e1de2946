import Foundation
import HandstampCore

/// The answer of a token endpoint (RFC 6749 section 5.1), and what servers add to it.
struct TokenAnswer: Decodable {
  struct Person: Decodable {
    var id: AccountID
    var name: String
    var is_anonymous: Bool?
  }
  var access_token: String
  var token_type: String
  var expires_in: Duration?
  var refresh_token: String?
  var scope: String?
  var id_token: String?
  var session_id: SessionID?
  var revocation_handle: String?
  var profile: Person?

  private enum CodingKeys: String, CodingKey {
    case access_token, token_type, expires_in, refresh_token, scope, id_token, session_id, revocation_handle, profile
  }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    access_token = try values.decode(String.self, forKey: .access_token)
    token_type = try values.decode(String.self, forKey: .token_type)
    // Some servers write the number as a text. What is no number counts as not said.
    let seconds =
      (try? values.decodeIfPresent(Double.self, forKey: .expires_in))
      ?? (try? values.decodeIfPresent(String.self, forKey: .expires_in)).flatMap { Double($0) }
    expires_in = seconds.flatMap { $0.isFinite && $0 >= 0 ? .seconds(min($0, 1e9)) : nil }
    refresh_token = try values.decodeIfPresent(String.self, forKey: .refresh_token)
    scope = try? values.decodeIfPresent(String.self, forKey: .scope)
    id_token = try? values.decodeIfPresent(String.self, forKey: .id_token)
    // Other servers may mean something else by these.
    session_id = try? values.decodeIfPresent(SessionID.self, forKey: .session_id)
    revocation_handle = try? values.decodeIfPresent(String.self, forKey: .revocation_handle)
    profile = try? values.decodeIfPresent(Person.self, forKey: .profile)
  }

  /// - Parameter isBound: whether the tokens were asked for with a proof of a key (RFC 9449), so that none but bound ones will do.
  init(_ body: [UInt8], isBound: Bool) throws(SessionError) {
    guard let answer = try? JSONDecoder().decode(TokenAnswer.self, from: Data(body)) else {
      throw .invalidAnswer("the token endpoint's answer is not readable")
    }
    let type = answer.token_type.lowercased()
    // A client that wants bound tokens does not go on with others (RFC 9449 section 5).
    guard !isBound || type != "bearer" else { throw .invalidAnswer("the server does not bind its tokens to the key") }
    guard type == (isBound ? "dpop" : "bearer") else { throw .invalidAnswer("tokens of an unknown type") }
    for text in [answer.access_token, answer.refresh_token, answer.revocation_handle].compactMap({ $0 }) {
      guard Secret(text).isToken else {
        throw .invalidAnswer("a token with characters that none may have")
      }
    }
    self = answer
  }

  var tokens: TokenSet {
    TokenSet(
      access: AccessToken(access_token), life: expires_in, refresh: refresh_token.map { RefreshToken($0) })
  }
}

/// An error of RFC 6749 section 5.2.
struct TokenRefusal: Decodable {
  var error: String
  var error_code: String?
  var error_description: String?
  var reason: String?

  /// Nothing for an answer that is no such error.
  init?(_ response: TransportResponse) {
    guard (400..<500).contains(response.status),
      let refusal = try? JSONDecoder().decode(TokenRefusal.self, from: Data(response.body))
    else { return nil }
    self = refusal
  }
}

/// Why a refresh brought no tokens: what it says about the refresh token, and what a caller is told.
struct RefreshProblem: Error {
  var failure: RefreshFailure
  var error: SessionError
}

extension RefreshProblem {
  /// What an answer to a refresh other than 200 means: only `invalid_grant` in a JSON body with 400 or 401 ends anything, and
  /// only an error of RFC 6749 section 5.2 tells that the token is what it was.
  init(_ response: TransportResponse) {
    guard let refusal = TokenRefusal(response) else {
      self.init(
        failure: .unreachable(retryAfter: response.retryAfter), error: .unreachable(retryAfter: response.retryAfter))
      return
    }
    guard response.status == 400 || response.status == 401, refusal.error == "invalid_grant" else {
      self.init(
        failure: .refused(code: refusal.error, retryAfter: response.retryAfter),
        error: .refused(code: refusal.error, detail: refusal.error_description))
      return
    }
    if refusal.error_code == "superseded" {
      self.init(failure: .rolledBack, error: .rolledBack)
    } else {
      let reason = refusal.reason.flatMap { EndReason(rawValue: $0) } ?? .rejected
      self.init(failure: .rejected(reason), error: .rejected(reason))
    }
  }

  /// A 200 whose access token is of no use: the refresh token in it may be the only one that is left.
  init(unusable body: [UInt8], error: SessionError, sent: RefreshToken) {
    struct Successor: Decodable { var refresh_token: String }
    let successor = try? JSONDecoder().decode(Successor.self, from: Data(body)).refresh_token
    var reason = ""
    if case .invalidAnswer(let text) = error { reason = text }
    if let successor, Secret(successor).isToken, successor != sent.secret.withExposed({ $0 }) {
      self.init(failure: .unusable(successor: RefreshToken(successor), reason: reason), error: error)
    } else {
      self.init(failure: .unreachable(retryAfter: nil), error: error)
    }
  }
}

extension SessionError {
  /// What an answer to anything else means.
  init(asking response: TransportResponse) {
    if let refusal = TokenRefusal(response) {
      self = .refused(code: refusal.error, detail: refusal.error_description)
    } else if response.status == 429 || response.status >= 500 {
      self = .unreachable(retryAfter: response.retryAfter)
    } else {
      self = .invalidAnswer("status \(response.status) without an OAuth error")
    }
  }
}
