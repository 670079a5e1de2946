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
  let clock: ServerClock

  /// The key that a new session's tokens are bound to, if any.
  struct Binding: Sendable {
    /// The key's JWK thumbprint.
    var thumbprint: String?
    /// The proof of its possession, which counts as used once the session has begun.
    fileprivate var proof: DPoPVerifier.Proof?

    /// The session that the request begins.
    func start(_ device: DeviceInfo, _ key: RotationKey?) -> AccountService.SessionStart {
      AccountService.SessionStart(device: device, thumbprint: thumbprint, key: key)
    }
  }

  /// Returns the key of a request's DPoP proof (RFC 9449). Call it before the request's credentials are verified: a client
  /// repeats its first request with the server's nonce, which must not count as another attempt.
  ///
  /// - Parameter session: the session that makes the request. If it is bound to a key, so is the new one.
  /// - Throws: ``TokenError`` for the proof.
  func binding(
    of request: Request, replacing session: AuthenticatedSession? = nil
  ) throws(TokenError) -> Binding {
    if let thumbprint = session?.thumbprint { return Binding(thumbprint: thumbprint) }
    let proof = try proofs.check(request, token: nil, at: clock.read())
    return Binding(thumbprint: proof?.thumbprint, proof: proof)
  }

  /// Returns the response to a request that has begun a session. The status is 201 if an account was created.
  func answer(_ new: NewSession, _ binding: Binding, status: HTTPResponse.Status = .ok) throws -> Response {
    if let proof = binding.proof { proofs.use(proof, at: clock.now) }
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
