#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// Sign-in of apps. Browsers begin their sessions in ``WebSessions``.
extension AccountService {
  /// Signs in with an address and a password, and the one-time password that the account may ask for.
  ///
  /// - Throws: ``ProblemError/wrongCredentials``, ``ProblemError/accountDisabled``, `rate_limited`, ``PasswordHashError``, and as
  ///   ``withSecondFactor(of:code:on:_:repeated:_:)``.
  func signIn(
    email: EmailAddress, password: Secret, code: Secret?, _ start: SessionStart, by caller: Caller
  ) async throws -> NewSession {
    let account = try await accounts.account(
      PasswordAttempt(email: email, password: password, device: start.device.id, caller: caller))
    let (registry, now) = (owned(caller), clock.now)
    let new = try await withSecondFactor(of: account, code: code, on: start.device.id, caller) {
      try await registry.repeatedSession(for: account, start, now: now)
    } _: { use in
      try await require(use.methods, of: account)
      return try await registry.createSession(by: use, start, now: now)
    }
    return recordSignIn(new, as: .signIn, caller)
  }

  /// Signs in with an authenticator's answer.
  ///
  /// - Throws: ``PasskeyService/VerificationError``, ``ProblemError/accountDisabled``, `rate_limited`.
  func signIn(byPasskey answer: String, _ start: SessionStart, by caller: Caller) async throws -> NewSession {
    try await verify(
      passkey: answer, boundTo: PasskeyService.app, mayRepeat: start.key != nil, caller
    ) { use in
      recordSignIn(try await owned(caller).createSession(by: use, start, now: clock.now), as: .signIn, caller)
    }
  }
}

extension AccountService {
  func caller(_ request: Request, _ context: some SessionRequestContext) -> Caller {
    Caller(
      client: limits.client(of: request, context), logger: context.logger,
      language: request.headers[.acceptLanguage].map { LanguageChoice.best($0, of: languages) })
  }

  /// Returns the owner whose session a request of the API belongs to.
  ///
  /// - Throws: ``ProblemError`` `session_ended` if the account was closed in the meantime.
  func owner(_ request: Request, _ context: SignedInContext<some SessionRequestContext>) async throws -> Owner {
    let session = context.session
    return Owner(
      account: try await registry.account(of: session), session: session.id, provenAt: session.authenticatedAt,
      methods: session.methods,
      caller: caller(request, context.parent))
  }
}
#endif
