#if Verifier
public import HandstampCore
import HandstampSupport

/// The reason for which a request is refused. ``TokenVerifier/response(to:of:requiring:)`` is the response to send.
public enum AccessError: Error, Sendable, Hashable {
  /// There is no access token.
  case tokenMissing
  /// Not a valid token of the issuer for this API. Another token may help.
  case tokenInvalid(TokenDefect)
  /// The token has expired. A refresh helps.
  case tokenExpired(at: UnixTime)
  /// The session has ended. Nothing but signing in again helps.
  case sessionEnded
  /// The token is bound to a key, and the request does not prove its possession (RFC 9449 section 7.1).
  case proofInvalid(ProofDefect)
  /// The token is genuine, but was not granted these scopes.
  case insufficientScope([String])
  /// The token is genuine, but its user has to prove again, or better, to be the account's owner (RFC 9470).
  case insufficientAuthentication(AuthenticationRule)
  /// The token is a client's own, without a user, and the API is for users: see ``VerifierConfiguration/admitsMachines``.
  case noAccount
  /// It cannot be known at the moment whether the token is valid. The same request may succeed later.
  case unavailable(UnknownState)
}

/// The defect of a token. For logs: the client only learns that its token is not valid.
public enum TokenDefect: String, Sendable, Hashable, CaseIterable {
  /// The `Authorization` field is repeated, or not a scheme and a token.
  case badField = "bad_field"
  /// Not a compact JWS with a header that is allowed, or longer than 8 KB.
  case malformed
  /// The header's `alg` is not among the accepted ones.
  case algorithm
  /// The header's `typ` is not `at+jwt` (RFC 9068 section 2.1).
  case type
  /// The issuer publishes no key with this ID for this algorithm.
  case unknownKey = "unknown_key"
  case signature
  /// A required claim is missing, or one has the wrong type.
  case claims
  case issuer
  case audience
  /// `nbf` is in the future.
  case notYetValid = "not_yet_valid"
  /// The token is bound to its client in a way other than a DPoP key (RFC 7800).
  case binding
  /// The token is bound to a key, but presented as a bearer token, or the other way around.
  case scheme
  /// The server says that the token is not active (RFC 7662).
  case inactive
}

/// The defect of a proof of possession. For logs.
public enum ProofDefect: String, Sendable, Hashable, CaseIterable {
  /// There is no proof, or more than one.
  case missing
  /// Not a proof whose key signed it.
  case malformed
  /// Made for another method, address or token.
  case otherRequest = "other_request"
  /// Made by another key than the token is bound to.
  case otherKey = "other_key"
  /// Older than ``VerifierConfiguration/proofLife``, or from the future.
  case time
  /// Used before.
  case replayed
}

/// Why it is not known whether a token is valid.
public enum UnknownState: Sendable, Hashable {
  /// The issuer's keys cannot be fetched.
  case keys
  /// There has been no word of ended sessions since that time; `nil` if there never was.
  case revocations(since: UnixTime?)
  /// The server cannot be asked (RFC 7662).
  case introspection
}

extension AccessError: CustomStringConvertible {
  /// The code and the cause, without any part of the token.
  public var description: String {
    switch self {
    case .tokenMissing, .tokenExpired, .sessionEnded, .noAccount: code
    case .tokenInvalid(let fault): "\(code) (\(fault.rawValue))"
    case .proofInvalid(let fault): "\(code) (\(fault.rawValue))"
    case .insufficientScope(let scopes): "\(code) (\(scopes.joined(separator: " ")))"
    case .insufficientAuthentication(let rule):
      "\(code) (\(rule.acr.joined(separator: " ")), \(rule.maxAge.map { "\($0.components.seconds) s" } ?? "any age"))"
    case .unavailable(.keys): "\(code) (keys)"
    case .unavailable(.revocations(nil)): "\(code) (revocations, never received)"
    case .unavailable(.revocations(let since?)): "\(code) (revocations, not received since \(since))"
    case .unavailable(.introspection): "\(code) (introspection)"
    }
  }

  /// The stable code, the same as in the server's problem documents.
  public var code: String {
    switch self {
    case .tokenMissing: "token_missing"
    case .tokenInvalid: "token_invalid"
    case .tokenExpired: "token_expired"
    case .sessionEnded: "session_ended"
    case .proofInvalid: "proof_invalid"
    case .insufficientScope: "insufficient_scope"
    case .insufficientAuthentication: "insufficient_user_authentication"
    case .noAccount: "no_account"
    case .unavailable: "unavailable"
    }
  }

  /// The step that helps the client.
  public var recovery: Recovery? {
    switch self {
    case .tokenMissing, .sessionEnded, .insufficientAuthentication: .signIn
    case .tokenInvalid, .tokenExpired, .proofInvalid: .retry(after: nil)
    case .insufficientScope, .noAccount: nil
    case .unavailable: .retry(after: .seconds(1))
    }
  }
}

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
