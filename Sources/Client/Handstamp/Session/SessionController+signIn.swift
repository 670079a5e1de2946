import HandstampCore
import HandstampSupport

/// The steps around the request of a sign-in: the turn, the key that it can be repeated with, and the word that its session is stored.
extension SessionController {
  /// The turn of one sign-in. Its keys are stored in the vault, unless the session is only in memory.
  nonisolated func signInTurn(by claim: SignInClaim?, _ remember: Bool) -> SignInTurn {
    SignInTurn(by: claim, remember: remember, keys: keys(remember)) { [self] () async throws(VaultError) in
      if remember {
        return try UnstoredRefreshes.holding(try await vault.signInLock(within: SignInTurn.patience).unlock)
      }
      // A session in memory creates no file, begins even if none can be written, and ends with the program.
      return await isSessionStored() ? (try? await vault.signInLock(within: SignInTurn.patience))?.unlock : nil
    }
  }

  private nonisolated func keys(_ remember: Bool) -> SignInKeys {
    SignInKeys(remember: remember, clock: clock) { [vault] new, used in
      if case .done(let entry) = await vault.edit(.prepareSignIn(new, insteadOf: used)) { entry.signIn } else { nil }
    } forget: { [vault] key in
      _ = await vault.edit(.forgetSignIn(key))
    }
  }

  /// Signs up, and begins the session unless the address has to be confirmed first.
  nonisolated func signedUp(
    by claim: SignInClaim, remember: Bool, _ perform: () async throws(SessionError) -> SignUpResponse
  ) async throws(SessionError) -> SignUpResult {
    let turn = signInTurn(by: claim, remember)
    defer { turn.end() }
    let response: SignUpResponse
    do throws(SessionError) { response = try await turn.during(perform) } catch {
      let inUse: AccountID? = if case .signedIn(let facts) = state { facts.profile?.id } else { nil }
      record(AuditEntry(failed: turn.claim, inUse: inUse, error, at: clock.now().wall))
      throw error
    }
    switch response {
    case .confirmationSent: return .confirmationSent
    case .signedIn(let tokens):
      return .signedIn(
        try await signedIn(remember: remember, in: turn) { () async throws(SessionError) in tokens })
    }
  }

  /// Tells the server that a new session is stored, once, without waiting for it.
  func confirm(_ tokens: TokenResponse) {
    guard let server = backend as? any SessionConfirming, let token = tokens.tokens.access else { return }
    confirming = Task.detached(priority: .utility) { await server.confirm(token) }
  }

  /// Waits until the server has been told of a new session, for a program that is about to exit.
  package func finishConfirming(within limit: Duration) async {
    guard let confirming else { return }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await confirming.value }
      group.addTask { [clock] in try? await clock.sleep(for: limit) }
      await group.next()
      group.cancelAll()
      confirming.cancel()
    }
  }
}
