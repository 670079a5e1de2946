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
  let authentication: ClientAuthentication
  let reader: TokenReader
  let journal: SessionJournal

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post("/oauth/revoke", use: revoke)
  }

  @concurrent func revoke(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let (form, caller) = try await authentication.call(request, context)
    guard let presented = form["token"] else { throw OAuthError.invalidRequest("token is missing") }
    let now = reader.clock.now
    let token = reader.read(presented, at: now)
    if let client = caller.client, let owner = try await owner(of: token, now: now), owner != client.id {
      throw OAuthError("invalid_grant", description: "the token belongs to another client")
    }
    if case .access(let claims) = token {
      do throws(RegistryError) {
        journal.ended(
          try await reader.registry.end(claims.session, of: claims.account, reason: .signedOut, now: now),
          logger: context.logger)
      } catch {
        guard error == .notFound else { throw error }
      }
    } else {
      journal.ended(try await reader.registry.revoke(Secret(presented), now: now), logger: context.logger)
    }
    return .oauth(JSONText())
  }

  /// Returns the client of the token's session: empty for the server's own app, `nil` if the token names no session.
  private func owner(of token: TokenReader.Token?, now: UnixTime) async throws -> String? {
    guard let token else { return nil }
    return try await reader.registry.session(token.session, now: now).map { $0.client?.id ?? "" }
  }
}
#endif
