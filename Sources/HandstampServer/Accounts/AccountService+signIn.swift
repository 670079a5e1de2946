#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// Sign-in of apps. Browsers begin their sessions in ``WebSessions``.
extension AccountService {
  /// Signs in with an address and a password.
  ///
  /// - Throws: ``ProblemError/wrongCredentials``, ``ProblemError/accountDisabled``, `rate_limited`, ``PasswordHashError``.
  func signIn(
    email: EmailAddress, password: Secret, _ start: SessionStart, by caller: Caller
  ) async throws -> NewSession {
    let account = try await accounts.account(
      PasswordAttempt(
        email: email, password: password, device: start.device.id, client: caller.client, logger: caller.logger))
    return began(
      try await owned(caller).createSession(
        for: account, device: start.device, thumbprint: start.thumbprint, key: start.key, now: clock.now),
      as: .signIn, caller)
  }

  /// Signs in with an authenticator's answer.
  ///
  /// - Throws: ``PasskeyService/VerificationError``, ``ProblemError/accountDisabled``, `rate_limited`.
  func signIn(byPasskey answer: String, _ start: SessionStart, by caller: Caller) async throws -> NewSession {
    try await verify(
      passkey: answer, boundTo: PasskeySignInController.app, mayRepeat: start.key != nil, caller
    ) { use in
      began(
        try await owned(caller).createSession(
          by: use, device: start.device, thumbprint: start.thumbprint, key: start.key, now: clock.now),
        as: .signIn, caller)
    }
  }
}

extension AccountService {
  func caller(_ request: Request, _ context: some SessionRequestContext) -> Caller {
    Caller(client: limits.client(of: request, context), logger: context.logger)
  }

  /// Returns the owner whose session a request of the API belongs to.
  ///
  /// - Throws: ``ProblemError`` `session_ended` if the account was closed in the meantime.
  func owner(_ request: Request, _ context: SignedInContext<some SessionRequestContext>) async throws -> Owner {
    let session = context.session
    return Owner(
      account: try await registry.account(of: session), session: session.id, provenAt: session.authenticatedAt,
      caller: Caller(client: limits.client(of: request, context.parent), logger: context.logger))
  }
}
#endif
