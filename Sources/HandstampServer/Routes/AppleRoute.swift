#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

extension SessionServer {
  /// `POST /v1/sign-in/apple`: signs in a user with Apple's identity token; the first sign-in creates the account. The
  /// account is found only by Apple's user ID: an email address in the token gives access to no account.
  @concurrent func signInWithApple(_ request: Request, _ context: ServerContext) async throws -> Response {
    guard let identityTokens else { throw Problem.notOffered("Sign in with Apple is not set up on this server") }
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
      do throws(RegistryError) { known = try await registry.account(identity: claims.identity) } catch {
        throw problem(error, context)
      }
      guard known != nil else { throw Problem.signUpClosed }
    }
    return try await begin(status: .ok, context) { now throws(RegistryError) in
      try await registry.signIn(
        as: claims.identity, username: body.username ?? "", device: body.device, nonce: usedNonce(claims, now), now: now)
    }
  }

  /// Returns the record that marks the nonce as used for as long as its token could be sent again.
  private func usedNonce(_ claims: IdentityTokens.Claims, _ now: UnixTime) -> OneTimeTokenRecord {
    let nonce = Secret(claims.identity.issuer + " " + claims.nonce)
    return OneTimeTokenRecord(
      id: OneTimeTokenID(of: nonce, purpose: .nonce), purpose: .nonce, subject: claims.identity.issuer, createdAt: now,
      expiresAt: claims.expiresAt)
  }
}
#endif
