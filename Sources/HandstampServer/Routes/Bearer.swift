#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

/// The sender of a request, according to its access token and the registry.
struct Bearer: Sendable {
  var account: AccountID
  var session: SessionID
  var expiresAt: UnixTime
  /// The scopes of the client that the token was issued to; `nil` if it may do everything that the account's owner may.
  var scopes: [Substring]?
}

extension SessionServer {
  /// Returns the bearer of a request if its token is valid and its session is live *now*: the signature alone would admit a
  /// revoked session until its token expires.
  ///
  /// - Parameter scope: the scope that admits another client's token; `nil` admits none.
  func bearer(
    of request: Request, allowing scope: String? = nil, _ context: ServerContext
  ) async throws -> Bearer {
    let (token, isBound) = try SessionServer.token(in: request)
    let time = clock.read()
    let now = time.now
    let claims: AccessTokens.Claims
    switch tokens.verify(token, at: now) {
    case .success(let genuine): claims = genuine
    case .failure(.expired):
      metrics.update { $0.refusedTokens += 1 }
      throw Problem.invalidToken(code: "token_expired", "The access token has expired")
    case .failure(.invalid):
      metrics.update { $0.refusedTokens += 1 }
      throw Problem.invalidToken(code: "token_invalid", "The access token is not valid")
    }
    try checkProof(of: request, token, claims, isBound: isBound, at: time)
    try await requireLive(claims, at: now, context)
    var bearer = Bearer(account: claims.account, session: claims.session, expiresAt: claims.expiresAt)
    guard claims.client != configuration.clientID, clients[claims.client]?.isFirstParty != true else { return bearer }
    let scopes = claims.scope?.split(separator: " ") ?? []
    guard let scope, scopes.contains(Substring(scope)) else { throw Problem.insufficientScope(scope) }
    bearer.scopes = scopes
    return bearer
  }

  /// Requires a proof with a bound token, and a bound token with a proof (RFC 9449 section 7).
  private func checkProof(
    of request: Request, _ token: Substring, _ claims: AccessTokens.Claims, isBound: Bool, at time: ServerClock.Reading
  ) throws(Problem) {
    guard isBound || claims.thumbprint != nil else { return }
    let refused = Problem.invalidToken(code: "token_invalid", "The access token is not valid")
    guard isBound, let thumbprint = claims.thumbprint else { throw refused }
    switch proofs.check(request, token: token, at: time) {
    case .success(thumbprint): return
    case .success: throw refused
    case .failure(let fault): throw proofs.problem(fault, now: time.now)
    }
  }

  /// Refuses a session that has ended or expired, and updates when a live one was last seen.
  private func requireLive(
    _ claims: AccessTokens.Claims, at now: UnixTime, _ context: ServerContext
  ) async throws(Problem) {
    let status: SessionStatus
    do throws(RegistryError) {
      status = try await registry.status(of: claims.session, account: claims.account, now: now)
    } catch {
      throw problem(error, context)
    }
    let row: SessionRow
    switch status {
    case .live(let found): row = found
    case .ended(let reason):
      metrics.update { $0.refusedTokens += 1 }
      throw .invalidToken(code: "session_ended", "The session has ended", reason: reason.rawValue)
    case .unknown:
      metrics.update { $0.refusedTokens += 1 }
      throw .invalidToken(code: "token_invalid", "The access token is not valid")
    }
    // If this update fails, a later request makes it.
    do throws(RegistryError) { try await registry.touch(row, now: now) } catch { report(error, context) }
  }

  /// Returns the token of the `Authorization` field, and whether its scheme is `DPoP`. There must be exactly one field, with
  /// the scheme `Bearer` (RFC 6750 section 2.1) or `DPoP` in any case.
  private static func token(in request: Request) throws(Problem) -> (Substring, isBound: Bool) {
    let fields = request.headers[values: .authorization]
    guard let field = fields.first else { throw .tokenMissing }
    let parts = field.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard fields.count == 1, parts.count == 2 else {
      throw .invalidToken(code: "token_invalid", "The access token is not valid")
    }
    switch parts[0].lowercased() {
    case "bearer": return (parts[1], false)
    case "dpop": return (parts[1], true)
    default: throw .tokenMissing
    }
  }
}
#endif
