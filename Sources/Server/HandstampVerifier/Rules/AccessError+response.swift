#if Verifier
public import HandstampCore
import HandstampSupport

/// The response to a refused request, for any server.
public struct RefusalResponse: Sendable, Hashable {
  /// 401, 403 or 503.
  public let status: Int
  /// `Content-Type`, `Cache-Control`, and `WWW-Authenticate` or `Retry-After`.
  public let headers: [HeaderField]
  /// problem+json (RFC 9457) in UTF-8. It repeats nothing of the request.
  public let body: [UInt8]
}

extension AccessError {
  /// The HTTP status: 401, 403 or 503.
  public var status: Int {
    switch self {
    case .tokenMissing, .tokenInvalid, .tokenExpired, .sessionEnded, .proofInvalid, .insufficientAuthentication: 401
    case .insufficientScope, .noAccount: 403
    case .unavailable: 503
    }
  }

  private var title: String {
    switch self {
    case .tokenMissing: "Sign-in required"
    case .tokenInvalid: "The access token is not valid"
    case .tokenExpired: "The access token has expired"
    case .sessionEnded: "The session has ended"
    case .proofInvalid: "The proof of possession is not valid"
    case .insufficientScope: "The access token does not allow this"
    case .insufficientAuthentication: "Confirm that it is you"
    case .noAccount: "The access token belongs to no account"
    case .unavailable: "The server is temporarily unavailable"
    }
  }

  /// - Parameters:
  ///   - scheme: the scheme of the request, which alone has the error.
  ///   - scopes: the scopes that the request needs.
  ///   - metadata: the URL of the resource's metadata.
  func response(
    to scheme: AccessScheme = .bearer, requiring scopes: [String] = [], metadata: String? = nil
  ) -> RefusalResponse {
    var headers = [
      HeaderField("Content-Type", "application/problem+json"), HeaderField("Cache-Control", "no-store"),
    ]
    if let challenge = challenge(to: scheme, requiring: scopes) {
      headers.append(HeaderField("WWW-Authenticate", challenge.field(metadata: metadata)))
    }
    if case .unavailable = self { headers.append(HeaderField("Retry-After", "1")) }
    var body = JSONText([("type", "urn:handstamp:problem:\(code)"), ("title", title)])
    body.add("status", Int64(status))
    body.add("code", code)
    return RefusalResponse(status: status, headers: headers, body: body.finished)
  }

  private func challenge(to scheme: AccessScheme, requiring scopes: [String]) -> AccessChallenge? {
    switch self {
    case .tokenMissing: AccessChallenge(scopes: scopes)
    case .noAccount, .unavailable: nil
    case .tokenInvalid, .tokenExpired, .sessionEnded:
      AccessChallenge(to: scheme, error: "invalid_token", scopes: scopes)
    case .proofInvalid: AccessChallenge(to: .dpop, error: "invalid_dpop_proof", scopes: scopes)
    case .insufficientAuthentication(let rule):
      AccessChallenge(
        to: scheme, error: "insufficient_user_authentication", scopes: scopes, acrValues: rule.acr,
        maxAge: rule.maxAge?.components.seconds)
    case .insufficientScope(let needed):
      // All at once: each round would ask the user again.
      AccessChallenge(
        to: scheme, error: "insufficient_scope", scopes: scopes + needed.filter { !scopes.contains($0) })
    }
  }
}
#endif
