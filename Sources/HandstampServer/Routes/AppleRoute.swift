#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

extension SessionServer {
  /// `POST /v1/sign-in/apple`: a session for whom Apple vouches for, and an account at the first time. The account is found by
  /// Apple's name for the person alone: an address in the token opens nobody's account.
  @concurrent func signInWithApple(_ request: Request, _ context: ServerContext) async throws -> Response {
    guard let identityTokens else { throw Problem.notOffered("Sign in with Apple is not set up here") }
    let body = try await request.json(as: AppleBody.self, upTo: configuration.bodyLimit)
    let claims: IdentityTokens.Claims
    do throws(IdentityTokenFault) {
      claims = try await identityTokens.verify(body.idToken, nonce: body.nonce, at: clock.read().forOthers)
    } catch {
      switch error {
      case .invalid:
        metrics.update { $0.refusedSignIns += 1 }
        context.logger.info("Sign-in with Apple refused")
        throw Problem.badIDToken
      case .unavailable(let cause):
        context.logger.error("Apple's keys unavailable", metadata: ["handstamp.cause": "\(cause)"])
        throw Problem.unavailable
      }
    }
    if configuration.signUp == .closed {
      let known: AccountRecord?
      do throws(RegistryStoreError) { known = try await registry.store.account(identity: claims.identity) } catch {
        throw storeProblem(error, context)
      }
      guard known != nil else { throw Problem.signUpClosed }
    }
    return try await begin(status: .ok, context) { now throws(RegistryError) in
      try await registry.signIn(
        as: claims.identity, username: body.username ?? "", device: body.device, nonce: ticket(claims, now), now: now)
    }
  }

  /// Marks the nonce as seen for as long as its token could be sent again.
  private func ticket(_ claims: IdentityTokens.Claims, _ now: UnixTime) -> Ticket {
    let nonce = Secret(claims.identity.issuer + " " + claims.nonce)
    return Ticket(
      id: TicketID(of: nonce, purpose: .nonce), purpose: .nonce, subject: claims.identity.issuer, createdAt: now,
      expiresAt: claims.expiresAt)
  }
}
#endif
