import Foundation
import HandstampCore
import HandstampSupport

/// The meaning of a response, read from its body: servers differ more in the status.
enum EndpointWord {
  case tokens(TokenResponseBody)
  case refusal(TokenRefusal)
  /// A JSON object with neither.
  case object
  /// A page, a text, or no body.
  case other

  /// An object with an access token in a 2xx response is a token response, whatever stands beside it: a successor is never
  /// thrown away for an odd member. An object with an error and no token is a refusal, also with status 200.
  init(_ response: TransportResponse) {
    if (200..<300).contains(response.status), let body = response.decoded(TokenResponseBody.self) {
      self = .tokens(body)
    } else if let refusal = response.decoded(TokenRefusal.self) {
      self = .refusal(refusal)
    } else {
      self = response.object == nil ? .other : .object
    }
  }
}

extension TransportResponse {
  /// The body as JSON. Bytes that are no UTF-8 cost the text that they are in, and not the others.
  func decoded<Value: Decodable>(_ type: Value.Type) -> Value? { try? JSONDecoder().decode(type, from: json) }

  var object: [String: Any]? { (try? JSONSerialization.jsonObject(with: json)) as? [String: Any] }

  private var json: Data {
    var text = String(decoding: body, as: UTF8.self)[...]
    if text.unicodeScalars.first == "\u{FEFF}" { text = text.dropFirst() }
    return Data(text.utf8)
  }
}

extension TokenResponseBody {
  /// Checks what makes the tokens usable.
  ///
  /// - Parameters:
  ///   - isBound: whether the tokens were requested with a proof of a key (RFC 9449), so that only bound ones are accepted.
  ///   - assumesBearer: whether tokens without a type are bearer tokens.
  ///   - synonyms: the provider's own names for bearer tokens.
  func check(isBound: Bool, assumesBearer: Bool, synonyms: Set<String>) throws(SessionError) {
    let named = (token_type?.lowercased()).map { synonyms.contains($0) ? "bearer" : $0 }
    guard let type = named ?? (assumesBearer ? "bearer" : nil) else {
      throw .invalidResponse(TokenResponseBody.lacksType)
    }
    // A client that requires bound tokens does not continue with others (RFC 9449 section 5).
    guard !isBound || type != "bearer" else {
      throw .invalidResponse("the server does not bind its tokens to the DPoP key")
    }
    guard type == (isBound ? "dpop" : "bearer") else {
      let isShown = type.utf8.count <= 40 && type.utf8.allSatisfy { (32...126).contains($0) }
      throw .invalidResponse("unknown token_type" + (isShown ? " \(type)" : ""))
    }
    guard hasValidTokens else { throw .invalidResponse("a token contains an invalid character") }
  }
}

/// The results of a refresh that brought no tokens.
extension RefreshResult {
  /// Maps a refusal: only `invalid_grant`, and a known provider's word for it, ends the session, with whatever status, except those
  /// that say of the server itself that it could not answer.
  ///
  /// - Parameter isOwn: whether the server speaks Handstamp's additions, `error_code`, `reason` and `provider`.
  init(
    _ refusal: TokenRefusal, _ response: TransportResponse, isOwn: Bool, _ provider: OAuthProvider, at now: UnixTime
  ) {
    guard StatusMeaning(response.status) != .passing, provider.ends(refusal) else {
      var refusal = refusal
      // The user has something to do, and the refresh token is as good as before.
      if refusal.error == "invalid_grant" {
        refusal.error = refusal.suberror == "consent_required" ? "consent_required" : "interaction_required"
      }
      self = .noDecision(RequestError(response, refusal, at: now), retryAfter: response.retryDelay())
      return
    }
    self = isOwn ? RefreshResult(end: refusal) : .rejected(.rejected)
  }

  /// Maps a response that is neither tokens nor a refusal. A new refresh token in it may be the only valid one.
  init(other response: TransportResponse, sent: RefreshToken) {
    guard (200..<300).contains(response.status) else {
      self = .noDecision(.server(.init(response, error: nil, detail: nil)), retryAfter: response.retryDelay())
      return
    }
    // An HTML page, such as a captive portal's.
    guard let object = response.object else {
      self = .noDecision(.server(.init(status: response.status, detail: "not a token response")))
      return
    }
    self.init(unusable: "not a token response", object["refresh_token"] as? String, sent: sent)
  }

  /// Maps tokens of which the access token cannot be used.
  init(unusable reason: String, _ text: String?, sent: RefreshToken) {
    let successor = text.flatMap { text in
      TokenResponseBody.isRefreshToken(text) && text != sent.secret.withExposed { $0 } ? RefreshToken(text) : nil
    }
    self = .noDecision(.unusableTokens(reason, successor: successor))
  }
}

extension RequestError {
  /// Maps a refusal without a decision. A server that rejects a DPoP proof while its clock differs from the device's rejects
  /// it for that reason (RFC 9449 section 11.1).
  fileprivate init(_ response: TransportResponse, _ refusal: TokenRefusal, at now: UnixTime) {
    let server = ServerResponse(response, error: refusal.error, detail: refusal.error_description)
    // A server that says that it could not answer says nothing of the request.
    if response.status >= 500 {
      self = .server(server)
    } else if refusal.error == "invalid_dpop_proof",
      let served = response.servedAt, abs(now.since(served).inSeconds) > 30
    {
      self = .clock(now.since(served))
    } else {
      self.init(server)
    }
  }
}

extension SessionError {
  /// Maps the response to any other request, as far as it is no token response.
  init(asking response: TransportResponse, at now: UnixTime) {
    guard let refusal = response.decoded(TokenRefusal.self) else {
      self =
        (200..<300).contains(response.status)
        ? .invalidResponse("not a token response")
        : .requestFailed(.server(.init(response, error: nil, detail: nil)), retryAfter: response.retryDelay())
      return
    }
    let failure = RequestError(response, refusal, at: now)
    if case .server(let server) = failure, server.isOfEndpoint, StatusMeaning(response.status) != .passing {
      self = .refused(code: refusal.error, detail: refusal.error_description)
    } else {
      self = .requestFailed(failure, retryAfter: response.retryDelay())
    }
  }
}
