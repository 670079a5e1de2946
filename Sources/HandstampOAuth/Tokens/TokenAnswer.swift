import Foundation
import HandstampCore

extension TokenAnswer {
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
    guard answer.hasValidTokens else { throw .invalidResponse("a token contains an invalid character") }
    self = answer
  }
}

extension TokenRefusal {
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
}

extension RefreshProblem {
  /// Maps a response to a refresh other than 200: only `invalid_grant` in a JSON body with 400, 401 or 403 ends the session,
  /// and only an error of RFC 6749 section 5.2 means that the token is unchanged.
  ///
  /// - Parameter isOwn: whether the server speaks Handstamp's additions, `error_code` and `reason`.
  init(_ response: TransportResponse, isOwn: Bool, at now: UnixTime) {
    let refusal = TokenRefusal(response)
    guard let refusal, [400, 401, 403].contains(response.status), refusal.error == "invalid_grant" else {
      self.init(
        result: .noDecision(RequestFailure(response, refusal, at: now), retryAfter: response.retryDelay()))
      return
    }
    guard isOwn else {
      self.init(result: .rejected(.rejected))
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
      let served = response.header("Date").flatMap({ UnixTime(httpDate: $0) }), abs(now.since(served).inSeconds) > 30
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
      self = .requestFailed(.server(.init(status: response.status)), retryAfter: response.retryDelay())
      return
    }
    let failure = RequestFailure(response, refusal, at: now)
    if case .server = failure {
      self = .refused(code: refusal.error, detail: refusal.error_description)
    } else {
      self = .requestFailed(failure, retryAfter: response.retryDelay())
    }
  }
}
