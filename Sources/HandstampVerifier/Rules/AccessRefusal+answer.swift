#if Verifier
public import HandstampCore
import HandstampJOSE
import HandstampSupport

/// The scheme of a request's `Authorization` field.
public enum TokenScheme: String, Sendable, Hashable, CaseIterable {
  /// RFC 6750 section 2.1.
  case bearer = "Bearer"
  /// With a proof of possession (RFC 9449 section 7.1).
  case dpop = "DPoP"
}

/// The response to a refused request, for any server.
public struct RefusalAnswer: Sendable, Hashable {
  /// 401, 403 or 503.
  public let status: Int
  /// `Content-Type`, `Cache-Control`, and `WWW-Authenticate` or `Retry-After`.
  public let headers: [HeaderField]
  /// problem+json (RFC 9457) in UTF-8. It repeats nothing of the request.
  public let body: [UInt8]
}

extension AccessRefusal {
  /// The HTTP status: 401, 403 or 503.
  public var status: Int {
    switch self {
    case .tokenMissing, .tokenInvalid, .tokenExpired, .sessionEnded, .proofInvalid: 401
    case .insufficientScope: 403
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
    case .unavailable: "The server is temporarily unavailable"
    }
  }

  /// The response, with the challenges of RFC 6750 section 3 and RFC 9449 section 7.1.
  public var answer: RefusalAnswer { answer(to: .bearer) }

  /// The response to a request with a scheme, which alone has the error.
  public func answer(to scheme: TokenScheme) -> RefusalAnswer {
    var headers = [
      HeaderField("Content-Type", "application/problem+json"), HeaderField("Cache-Control", "no-store"),
    ]
    if let challenge = challenge(to: scheme) { headers.append(HeaderField("WWW-Authenticate", challenge)) }
    if case .unavailable = self { headers.append(HeaderField("Retry-After", "1")) }
    var body = JSONText([("type", "urn:handstamp:problem:\(code)"), ("title", title)])
    body.add("status", Int64(status))
    body.add("code", code)
    return RefusalAnswer(status: status, headers: headers, body: body.finished)
  }

  private func challenge(to scheme: TokenScheme) -> String? {
    switch self {
    case .tokenMissing: return TokenScheme.allCases.map { AccessRefusal.challenge($0, []) }.joined(separator: ", ")
    case .unavailable: return nil
    case .tokenInvalid, .tokenExpired, .sessionEnded:
      return AccessRefusal.challenges(scheme, [("error", "invalid_token")])
    case .proofInvalid: return AccessRefusal.challenges(.dpop, [("error", "invalid_dpop_proof")])
    case .insufficientScope(let scopes):
      let scope = scopes.joined(separator: " ").filter(AccessRefusal.isScopeCharacter)
      return AccessRefusal.challenges(scheme, [("error", "insufficient_scope"), ("scope", scope)])
    }
  }

  private static func challenges(_ scheme: TokenScheme, _ error: [(String, String)]) -> String {
    ([challenge(scheme, error)] + TokenScheme.allCases.filter { $0 != scheme }.map { challenge($0, []) })
      .joined(separator: ", ")
  }

  private static func challenge(_ scheme: TokenScheme, _ parameters: [(String, String)]) -> String {
    let all = scheme == .dpop ? parameters + [("algs", JWSAlgorithm.es256.rawValue)] : parameters
    guard !all.isEmpty else { return scheme.rawValue }
    return scheme.rawValue + " " + all.map { "\($0)=\"\($1)\"" }.joined(separator: ", ")
  }

  /// The characters of scopes (RFC 6749 section 3.3), which a quoted string may have as they are.
  private static func isScopeCharacter(_ character: Character) -> Bool {
    guard let value = character.asciiValue else { return false }
    return (32...126).contains(value) && value != 34 && value != 92
  }
}
#endif
