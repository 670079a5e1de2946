#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// `/oauth/revoke` (RFC 7009): ends the session of a genuine token or revocation handle, and with it all of the session's
/// tokens. An invalid token is answered 200 as well (section 2.2); 503 means that the end could not be stored.
///
/// A client ends only its own sessions: a confidential client authenticates itself, a public client sends its ID, and a request
/// without a client is from the server's own app.
struct RevocationController: Sendable {
  let authentication: ClientAuthentication
  let reader: TokenReader
  let journal: SessionJournal

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.prompt { $0.post("/oauth/revoke", use: revoke) }
  }

  @concurrent func revoke(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let (form, caller) = try await authentication.call(request, context)
    guard let presented = form["token"] else { throw OAuthError.invalidRequest("token is missing") }
    let now = reader.clock.now
    let token = reader.read(presented, at: now)
    try await require(caller, toOwn: token, now: now)
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

  /// Verifies that the token of a live session was issued to the caller (RFC 7009 section 2.1).
  private func require(_ caller: Caller, toOwn token: TokenReader.Token?, now: UnixTime) async throws {
    guard let token, let row = try await reader.registry.session(token.session, now: now),
      row.client?.id != caller.client?.id
    else { return }
    guard caller.client == nil else {
      throw OAuthError("invalid_grant", description: "the token belongs to another client")
    }
    throw OAuthError.invalidClient.describing(
      "the token belongs to a client: send its client_id, and its secret if it has one")
  }
}
#endif
