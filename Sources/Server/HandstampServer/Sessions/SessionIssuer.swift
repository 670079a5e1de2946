#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HTTPTypes
import Hummingbird

/// Answers requests of the JSON API that begin a session.
struct SessionIssuer: Sendable {
  let responses: TokenResponses
  let proofs: DPoPVerifier

  /// Returns the session that a request asks for, bound to the key of its DPoP proof (RFC 9449), and that proof, which counts as used
  /// once the session has begun. Call it before the request's credentials are verified: a client repeats its first request with the
  /// server's nonce, which must not count as another attempt.
  ///
  /// - Parameter session: the session that makes the request. If it is bound to a key, so is the new one.
  /// - Throws: ``ProblemError`` for the body, ``ProofError`` for the proof.
  func start(
    of request: Request, _ body: JSONFields, replacing session: AuthenticatedSession? = nil
  ) throws -> (SessionStart, DPoPVerifier.Proof?) {
    var start = SessionStart(device: try body.device(), try body.persistence(), key: try body.rotationKey())
    start.thumbprint = session?.thumbprint
    guard start.thumbprint == nil else { return (start, nil) }
    let proof = try proofs.check(request, token: nil, at: responses.clock.now)
    start.thumbprint = proof?.thumbprint
    return (start, proof)
  }

  /// Returns the response to a request that has begun a session. The status is 201 if an account was created.
  func response(_ new: NewSession, _ proof: DPoPVerifier.Proof?, status: HTTPResponse.Status = .ok) throws -> Response {
    if let proof { proofs.use(proof, at: responses.clock.now) }
    return .json(try responses.signedIn(new), status: status)
  }
}

extension Registry {
  /// Returns the account of a request's session.
  ///
  /// - Throws: ``ProblemError`` `session_ended` if the account was closed in the meantime, which has ended its sessions.
  func account(of session: AuthenticatedSession) async throws -> AccountRecord {
    guard let account = try await account(session.account), account.closedAt == nil else {
      throw ProblemError.invalidToken(
        session.thumbprint == nil ? .bearer : .dpop, code: "session_ended", "The session has ended",
        reason: .accountClosed)
    }
    return account
  }
}
#endif
