#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

extension SessionServer {
  /// `POST /oauth/revoke` (RFC 7009): ends the session that any genuine token of it, or its revocation handle, names, and with
  /// it every token of that session. What names none is answered 200 as well (section 2.2); 503 when the end could not be made
  /// durable.
  ///
  /// Whoever holds a session's token may end it: a client needs not name itself. One that does ends no other client's.
  @concurrent func revoke(_ request: Request, _ context: ServerContext) async throws -> Response {
    let (form, caller): (FormBody, Caller)
    switch try await call(request) {
    case .success(let found): (form, caller) = found
    case .failure(let refusal): return refusal.response
    }
    guard let presented = form["token"] else {
      return OAuthAnswer.refusal("invalid_request", description: "token is missing")
    }
    let now = self.now()
    do throws(RegistryError) {
      if let client = caller.client, let owner = try await owner(of: presented, now: now), owner != client.id {
        return OAuthAnswer.refusal("invalid_grant", description: "the token is of another client")
      }
      if case .success(let claims) = tokens.verify(Substring(presented), at: now, audience: nil) {
        do throws(RegistryError) {
          ended(
            try await registry.end(claims.session, of: claims.account, reason: .signedOut, now: now), context)
        } catch {
          guard error == .missing else { throw error }
        }
      } else {
        ended(try await registry.revoke(Secret(presented), now: now), context)
      }
      return OAuthAnswer.success(JSONText())
    } catch {
      report(error, context)
      return OAuthAnswer.unavailable
    }
  }

  /// The client of the session that a token names; empty for the server's own app, nothing for what names none.
  private func owner(of presented: String, now: UnixTime) async throws(RegistryError) -> String? {
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
