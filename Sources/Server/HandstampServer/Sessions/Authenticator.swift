#if Server
import Crypto
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HTTPTypes
import Hummingbird
import Logging

/// Finds out which session a request belongs to.
struct Authenticator: Sendable {
  let registry: Registry
  let tokens: AccessTokens
  let proofs: DPoPVerifier
  let clients: ClientDirectory
  let clock: ServerClock
  let metrics: ServerMetrics
  let errors: ErrorMapper
  let recorder: SessionEventRecorder
  /// Those of browser applications, which have no tokens.
  let origins: WebOrigins

  /// Returns the session of a request if its token is valid and its session is live *now*: the signature alone would admit a
  /// revoked session until its token expires.
  ///
  /// - Parameter allowed: the scopes of which one admits another client's token; without any, none is admitted.
  func session(
    of request: Request, allowing allowed: [String] = [], logger: Logger
  ) async throws -> AuthenticatedSession {
    if request.headers[.authorization] == nil, request.cookie(ResponseCookie.session) != nil {
      return try await cookieSession(of: request, logger)
    }
    do {
      return try await tokenSession(of: request, allowing: allowed, logger: logger)
    } catch var problem as ProblemError {
      // One of them is enough.
      problem.challenge?.scopes = allowed.first.map { [$0] } ?? []
      throw problem
    }
  }

  private func tokenSession(
    of request: Request, allowing allowed: [String], logger: Logger
  ) async throws -> AuthenticatedSession {
    let (claims, scheme) = try await use(request, logger) { tokens.verify($0, at: $1) }
    let scopes = clients.isFirstParty(claims.client) ? nil : claims.scope?.split(separator: " ").map(String.init) ?? []
    if let scopes {
      guard allowed.contains(where: scopes.contains) else { throw ProblemError.insufficientScope(scheme) }
    }
    return AuthenticatedSession(
      account: claims.account, id: claims.session, scopes: scopes, tokenExpiresAt: claims.expiresAt,
      thumbprint: claims.thumbprint, authenticatedAt: claims.authenticatedAt,
      methods: AuthenticationMethods(claims.methods.compactMap { AuthenticationMethod(rawValue: $0) }))
  }

  /// Records that the client of an access token has stored it, whatever its scopes and its audience: the session is used. Changes
  /// nothing else.
  func confirm(_ request: Request, logger: Logger) async throws {
    _ = try await use(request, logger) { tokens.verify($0, at: $1, audience: nil) }
  }

  /// Checks the token of a request, and records the use of its session.
  private func use(
    _ request: Request, _ logger: Logger,
    _ verify: (Substring, UnixTime) -> Result<AccessTokens.Claims, AccessTokens.Refusal>
  ) async throws -> (AccessTokens.Claims, AccessScheme) {
    let (token, scheme) = try Authenticator.token(in: request)
    let now = clock.now
    let claims: AccessTokens.Claims
    switch verify(token, now) {
    case .success(let genuine): claims = genuine
    case .failure(.expired): throw refused(scheme, "token_expired", "The access token has expired")
    case .failure(.invalid): throw refused(scheme, "token_invalid", "The access token is not valid")
    }
    try checkProof(of: request, token, claims, scheme, at: now)
    guard clients.knows(claims.client) else {
      throw refused(scheme, "token_invalid", "The access token is of a client that is not configured")
    }
    // It has no account, and whatever is behind this is about one.
    guard !claims.isMachine else { throw ProblemError.noAccount(scheme) }
    try await requireLive(claims, scheme, at: now, logger: logger)
    return (claims, scheme)
  }

  private func cookieSession(of request: Request, _ logger: Logger) async throws -> AuthenticatedSession {
    guard let user = try await browserSession(of: request, logger) else { throw ProblemError.notSignedIn }
    let now = clock.now
    await touch(user.row, at: now, logger)
    return AuthenticatedSession(
      account: user.account.id, id: user.row.id, tokenExpiresAt: now.advanced(by: tokens.life),
      authenticatedAt: user.authenticatedAt, methods: user.methods)
  }

  /// Updates when a session was last seen. If this fails, a later request does it.
  private func touch(_ row: SessionRow, at now: UnixTime, _ logger: Logger) async {
    do throws(RegistryError) { try await registry.touch(row, now: now) } catch { errors.report(error, logger: logger) }
  }

  /// Requires a proof with a bound token, and a bound token with a proof (RFC 9449 section 7).
  private func checkProof(
    of request: Request, _ token: Substring, _ claims: AccessTokens.Claims, _ scheme: AccessScheme,
    at now: UnixTime
  ) throws {
    guard scheme == .dpop || claims.thumbprint != nil else { return }
    guard scheme == .dpop, let thumbprint = claims.thumbprint,
      let proof = try proofs.check(request, token: token, at: now), proof.thumbprint == thumbprint
    else { throw ProblemError.invalidToken(scheme, code: "token_invalid", "The access token is not valid") }
    guard proofs.use(proof, at: now) else { throw ProofError.invalid }
  }

  /// Refuses a session that has ended or expired, and updates when a live one was last seen.
  private func requireLive(
    _ claims: AccessTokens.Claims, _ scheme: AccessScheme, at now: UnixTime, logger: Logger
  ) async throws {
    switch try await registry.status(of: claims.session, account: claims.account, now: now) {
    case .unknown: throw refused(scheme, "token_invalid", "The access token is not valid")
    case .ended(let reason): throw refused(scheme, "session_ended", "The session has ended", reason: reason)
    // Not ended: a refresh begins its use.
    case .forgotten: throw refused(scheme, "token_expired", "The access token has expired")
    case .live(let row):
      await recordFirstUse(of: row, at: now, logger)
      await touch(row, at: now, logger)
    }
  }

  /// Records the first use of a session. If this fails, a later request does it.
  private func recordFirstUse(of row: SessionRow, at now: UnixTime, _ logger: Logger) async {
    guard row.pending != nil else { return }
    do throws(RegistryError) {
      recorder.recordDisplacement(try await registry.recordFirstUse(of: row, now: now), logger: logger)
    } catch { errors.report(error, logger: logger) }
  }

  private func refused(
    _ scheme: AccessScheme, _ code: String, _ title: String, reason: EndReason? = nil
  ) -> ProblemError {
    metrics.update { $0.refusedTokens += 1 }
    return .invalidToken(scheme, code: code, title, reason: reason)
  }

  /// Returns the token of the `Authorization` field, and its scheme. There must be exactly one field.
  private static func token(in request: Request) throws(ProblemError) -> (Substring, AccessScheme) {
    let fields = request.headers[values: .authorization]
    guard let field = fields.first else { throw .tokenMissing }
    let parts = field.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    let scheme = AccessScheme(parts[0])
    guard fields.count == 1, parts.count == 2 else {
      throw .invalidToken(scheme ?? .bearer, code: "token_invalid", "The access token is not valid")
    }
    guard let scheme else { throw .tokenMissing }
    return (parts[1], scheme)
  }
}

/// Requests with the cookie of a browser's session instead of an access token.
extension Authenticator {
  /// Returns the session of a request's cookie; `nil` if the request has none, or it is no longer valid.
  ///
  /// - Throws: ``ProblemError`` for a request that a page of another origin may have made: SameSite alone does not stop pages of the
  ///   same site, such as those of other subdomains.
  func browserSession(of request: Request, _ logger: Logger) async throws -> BrowserSession? {
    guard let cookie = request.cookie(ResponseCookie.session) else { return nil }
    guard origins.admit(request) else { throw ProblemError.otherOrigin }
    if ![.get, .head].contains(request.method) {
      guard let token = request.headers[.csrfToken], Secret(token) == Secret(Authenticator.csrfToken(for: cookie))
      else {
        throw ProblemError.csrfTokenInvalid
      }
    }
    let user = try await registry.browserSession(Secret(cookie), now: clock.now)
    if let user { recorder.recordDisplacement(user.displaced, logger: logger) }
    return user
  }

  /// The CSRF token that belongs to a cookie: other sites can read neither.
  static func csrfToken(for cookie: String) -> String {
    Base64URL.encode(SHA256.hash(data: Array("handstamp session \(cookie)".utf8)))
  }
}

extension ProblemError {
  static let otherOrigin = ProblemError(
    .forbidden, "origin_not_allowed", "Pages of this origin may not use the session",
    detail: "The operator allows origins by the setting web-origins.")
  static let csrfTokenInvalid = ProblemError(
    .forbidden, "csrf_token_invalid", "The CSRF token is missing or not valid",
    detail: "Send the csrf_token of GET /v1/session as X-CSRF-Token.")
}
#endif
