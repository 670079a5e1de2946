import Foundation
import HandstampCore

/// The response of a token endpoint (RFC 6749 section 5.1), with the additions of some servers.
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
    // Some servers write the number as a string. A value that is not a number is ignored.
    let seconds =
      (try? values.decodeIfPresent(Double.self, forKey: .expires_in))
      ?? (try? values.decodeIfPresent(String.self, forKey: .expires_in)).flatMap { Double($0) }
    expires_in = seconds.flatMap { $0.isFinite && $0 >= 0 ? .seconds(min($0, 1e9)) : nil }
    refresh_token = try values.decodeIfPresent(String.self, forKey: .refresh_token)
    scope = try? values.decodeIfPresent(String.self, forKey: .scope)
    id_token = try? values.decodeIfPresent(String.self, forKey: .id_token)
    // Other servers may use these names differently.
    session_id = try? values.decodeIfPresent(SessionID.self, forKey: .session_id)
    revocation_handle = try? values.decodeIfPresent(String.self, forKey: .revocation_handle)
    profile = try? values.decodeIfPresent(Person.self, forKey: .profile)
  }

  /// - Parameter isBound: whether the tokens were requested with a proof of a key (RFC 9449), so that only bound ones are
  ///   accepted.
  init(_ body: [UInt8], isBound: Bool) throws(SessionError) {
    guard let answer = try? JSONDecoder().decode(TokenAnswer.self, from: Data(body)) else {
      throw .invalidResponse("not a token response")
    }
    let type = answer.token_type.lowercased()
    // A client that requires bound tokens does not continue with others (RFC 9449 section 5).
    guard !isBound || type != "bearer" else {
      throw .invalidResponse("the server does not bind its tokens to the DPoP key")
    }
    guard type == (isBound ? "dpop" : "bearer") else { throw .invalidResponse("unknown token_type") }
    for text in [answer.access_token, answer.refresh_token, answer.revocation_handle].compactMap({ $0 }) {
      guard Secret(text).isToken else {
        throw .invalidResponse("a token contains an invalid character")
      }
    }
    self = answer
  }

  var tokens: TokenSet {
    TokenSet(
      access: AccessToken(access_token), expiresIn: expires_in, refresh: refresh_token.map { RefreshToken($0) })
  }
}

/// An error of RFC 6749 section 5.2.
struct TokenRefusal: Decodable {
  var error: String
  var error_code: String?
  var error_description: String?
  var reason: String?

  /// Returns `nil` for a response that is not such an error.
  init?(_ response: TransportResponse) {
    guard (400..<500).contains(response.status),
      let refusal = try? JSONDecoder().decode(TokenRefusal.self, from: Data(response.body))
    else { return nil }
    self = refusal
  }
}

/// Why a refresh brought no tokens: any result but ``RefreshResult/granted(_:)``.
struct RefreshProblem: Error {
  var result: RefreshResult

  /// The error for callers.
  var error: SessionError {
    switch result {
    case .granted: .invalidResponse("tokens")
    case .rejected(let reason): .sessionEnded(reason)
    case .superseded: .storageOutdated
    // A new refresh token is for the session alone.
    case .noDecision(.unusableTokens(let reason, _), let retryAfter):
      SessionError(.unusableTokens(reason, successor: nil), retryAfter: retryAfter)
    case .noDecision(let failure, let retryAfter): SessionError(failure, retryAfter: retryAfter)
    }
  }
}

extension RefreshProblem {
  /// Maps a response to a refresh other than 200: only `invalid_grant` in a JSON body with 400, 401 or 403 ends the session,
  /// and only an error of RFC 6749 section 5.2 means that the token is unchanged.
  init(_ response: TransportResponse, at now: UnixTime) {
    let refusal = TokenRefusal(response)
    guard let refusal, [400, 401, 403].contains(response.status), refusal.error == "invalid_grant" else {
      self.init(
        result: .noDecision(RequestFailure(response, refusal, at: now), retryAfter: response.retryAfter))
      return
    }
    if refusal.error_code == "superseded" {
      self.init(result: .superseded)
    } else {
      self.init(result: .rejected(refusal.reason.flatMap { EndReason(rawValue: $0) } ?? .rejected))
    }
  }

  /// Maps a 200 whose access token cannot be used: the refresh token in it may be the only valid one.
  init(unusable body: [UInt8], error: SessionError, sent: RefreshToken) {
    struct Successor: Decodable { var refresh_token: String }
    let text = try? JSONDecoder().decode(Successor.self, from: Data(body)).refresh_token
    let successor = text.flatMap { text in
      Secret(text).isToken && text != sent.secret.withExposed { $0 } ? RefreshToken(text) : nil
    }
    // An HTML page, such as a captive portal's.
    guard (try? JSONSerialization.jsonObject(with: Data(body))) is [String: Any] else {
      self.init(result: .noDecision(.server(.init(status: 200, detail: "not a token response"))))
      return
    }
    var reason = "not a token response"
    if case .invalidResponse(let text) = error { reason = text }
    self.init(result: .noDecision(.unusableTokens(reason, successor: successor)))
  }
}

extension RequestFailure {
  /// Maps a response without a decision. A server that rejects a DPoP proof while its clock differs from the device's rejects
  /// it for that reason (RFC 9449 section 11.1).
  fileprivate init(_ response: TransportResponse, _ refusal: TokenRefusal?, at now: UnixTime) {
    if refusal?.error == "invalid_dpop_proof",
      let served = response.header("Date").flatMap({ HTTPDate.time($0) }), abs(now.since(served).inSeconds) > 30
    {
      self = .clock(now.since(served))
    } else {
      self.init(.init(status: response.status, error: refusal?.error, detail: refusal?.error_description))
    }
  }
}

extension SessionError {
  /// Maps the response to any other request.
  init(asking response: TransportResponse, at now: UnixTime) {
    guard let refusal = TokenRefusal(response) else {
      self = .requestFailed(.server(.init(status: response.status)), retryAfter: response.retryAfter)
      return
    }
    let failure = RequestFailure(response, refusal, at: now)
    if case .server = failure {
      self = .refused(code: refusal.error, detail: refusal.error_description)
    } else {
      self = .requestFailed(failure, retryAfter: response.retryAfter)
    }
  }
}
