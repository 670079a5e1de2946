#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// `/oauth/revoke` (RFC 7009): ends the session of a genuine token or revocation handle, and with it all of the session's
/// tokens. An invalid token is answered 200 as well (section 2.2); 503 means that the end could not be stored.
///
/// A client ends only its own sessions: a confidential client authenticates itself, a public client sends its ID, and a request
/// without a client is from the server's own app. A client that is not known any more ends its sessions by its ID alone.
struct RevocationController: Sendable {
  let authentication: ClientAuthentication
  let reader: TokenReader
  let recorder: SessionEventRecorder

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.post(.prompt(.revocation), use: revoke)
  }

  @concurrent func revoke(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let form = try await authentication.form(of: request)
    let now = reader.clock.now
    let token = form["token"].flatMap { reader.read($0, at: now) }
    if try await !isOfUnknownClient(token, request, form) {
      let client = try await authentication.client(of: request, form, context)
      if case .access(let claims) = token, claims.isMachine {
        guard claims.client == client?.id else { throw RevocationController.foreign }
        // Jobs that run at the same time share the session (RFC 7009 section 2.2.1).
        throw OAuthError("unsupported_token_type", description: "a client's own token ends by itself")
      }
      try await require(client, toOwn: token, now: now)
    }
    guard let presented = form["token"] else { throw OAuthError.invalidRequest("token is missing") }
    if case .access(let claims) = token {
      do throws(RegistryError) {
        recorder.recordEnd(
          try await reader.registry.end(claims.session, of: claims.account, reason: .signedOut, now: now),
          logger: context.logger)
      } catch {
        guard error == .notFound else { throw error }
      }
    } else {
      recorder.recordEnd(try await reader.registry.revoke(Secret(presented), now: now), logger: context.logger)
    }
    return .oauth(JSONText())
  }

  private static let foreign = OAuthError("invalid_grant", description: "the token belongs to another client")

  /// Whether the token is of a session of the client that the request names, which is not known any more. The client would take
  /// `invalid_client` as final, and its session would live again when its entry is back; it needs no rights to end what it holds.
  private func isOfUnknownClient(
    _ token: TokenReader.Token?, _ request: Request, _ form: FormFields
  ) async throws -> Bool {
    guard let token, let id = authentication.unknownClient(of: request, form) else { return false }
    return try await reader.registry.storedSession(token.session)?.client?.id == id
  }

  /// Verifies that the token of a live session was issued to the client (RFC 7009 section 2.1).
  private func require(_ client: ConfiguredClient?, toOwn token: TokenReader.Token?, now: UnixTime) async throws {
    guard let token, let row = try await reader.registry.session(token.session, now: now),
      row.client?.id != client?.id
    else { return }
    guard client == nil else { throw RevocationController.foreign }
    throw OAuthError.invalidClient.describing(
      "the token belongs to a client: send its client_id, and its secret if it has one")
  }
}
#endif
