#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// `/oauth/revoke` (RFC 7009): ends the session of a genuine token or revocation handle, and with it all of the session's
/// tokens. An invalid token is answered 200 as well (section 2.2); 503 means that the end could not be stored.
///
/// Holding a session's token is enough to end it: a client does not need to identify itself. One that does can only end its
/// own sessions.
struct RevocationController: Sendable {
  let registry: Registry
  let authentication: ClientAuthentication
  let tokens: AccessTokens
  let journal: SessionJournal
  let clock: ServerClock

  func addRoutes<Context: RequestContext>(to routes: some RouterMethods<Context>) {
    routes.post("/oauth/revoke", use: revoke)
  }

  @concurrent func revoke(_ request: Request, _ context: some RequestContext) async throws -> Response {
    let (form, caller) = try await authentication.call(request)
    guard let presented = form["token"] else { throw OAuthError.invalidRequest("token is missing") }
    let now = clock.now
    if let client = caller.client, let owner = try await owner(of: presented, now: now), owner != client.id {
      throw OAuthError("invalid_grant", description: "the token belongs to another client")
    }
    if case .success(let claims) = tokens.verify(Substring(presented), at: now, audience: nil) {
      do throws(RegistryError) {
        journal.ended(
          try await registry.end(claims.session, of: claims.account, reason: .signedOut, now: now),
          logger: context.logger)
      } catch {
        guard error == .notFound else { throw error }
      }
    } else {
      journal.ended(try await registry.revoke(Secret(presented), now: now), logger: context.logger)
    }
    return .oauth(JSONText())
  }

  /// Returns the client of the token's session: empty for the server's own app, `nil` if the token names no session.
  private func owner(of presented: String, now: UnixTime) async throws -> String? {
    let id: SessionID
    if case .success(let claims) = tokens.verify(Substring(presented), at: now, audience: nil) {
      id = claims.session
    } else if case .genuine(let claims) = registry.mint.read(RefreshToken(presented)) {
      id = claims.session.id
    } else if case .genuine(let session) = registry.mint.read(RevocationHandle(presented)) {
      id = session.id
    } else {
      return nil
    }
    return try await registry.session(id, now: now).map { $0.client?.id ?? "" }
  }
}
#endif
