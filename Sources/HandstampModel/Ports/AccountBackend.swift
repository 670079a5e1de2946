/// A backend that also makes, changes and removes accounts. What a server does not offer throws
/// ``SessionError/unsupported(_:)``, which is what every function does until it is written.
public protocol AccountBackend: Backend {
  /// Makes an account. Some servers want the address confirmed first.
  @concurrent func signUp(
    email: String, password: Secret, username: String
  ) async throws(SessionError) -> SignUpOutcome

  @concurrent func signIn(email: String, password: Secret) async throws(SessionError) -> Grant

  /// Makes an account without a name, for a guest.
  @concurrent func signInAnonymously() async throws(SessionError) -> Grant

  /// Makes a full account of a guest's, under the same account id. The new session replaces the guest's.
  ///
  /// - Parameter token: the guest's.
  @concurrent func upgrade(
    email: String, password: Secret, username: String, token: AccessToken
  ) async throws(SessionError) -> SignUpOutcome

  /// Signs in with what Apple's sheet returned.
  ///
  /// - Parameter nonce: the value whose SHA-256, in hexadecimal, was given to the sheet.
  @concurrent func signInWithApple(idToken: Secret, nonce: String) async throws(SessionError) -> Grant

  /// Asks for a mail by which the password can be set anew. Tells nobody whether there is such an account.
  @concurrent func requestPasswordReset(email: String) async throws(SessionError)

  /// - Parameter endingOthers: whether the account's other sessions end with the old password.
  @concurrent func changePassword(
    from old: Secret, to new: Secret, endingOthers: Bool, token: AccessToken
  ) async throws(SessionError)

  /// Removes the account, and ends all its sessions.
  ///
  /// - Parameter password: nothing for an account without one.
  @concurrent func deleteAccount(password: Secret?, token: AccessToken) async throws(SessionError)

  /// Ends every session of the account but the caller's.
  @concurrent func endOtherSessions(token: AccessToken) async throws(SessionError)

  /// Where the server may send this device a push message; nothing for nowhere.
  @concurrent func registerPushToken(_ pushToken: Secret?, token: AccessToken) async throws(SessionError)
}

/// How a sign-up went.
public enum SignUpOutcome: Sendable, Hashable {
  case signedIn(Grant)
  /// A mail with a link is on its way, if the address can have an account. The session comes with the link.
  case confirmationSent

  /// The grant, for whoever cannot wait for a mail.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `confirmation_sent`.
  public var grant: Grant {
    get throws(SessionError) {
      switch self {
      case .signedIn(let grant): return grant
      case .confirmationSent:
        throw .refused(code: "confirmation_sent", detail: "A mail with a link is on its way; go on from there.")
      }
    }
  }
}

extension AccountBackend {
  @concurrent public func signUp(
    email: String, password: Secret, username: String
  ) async throws(SessionError) -> SignUpOutcome { throw .unsupported("sign-up") }

  @concurrent public func signIn(email: String, password: Secret) async throws(SessionError) -> Grant {
    throw .unsupported("sign-in with a password")
  }

  @concurrent public func signInAnonymously() async throws(SessionError) -> Grant { throw .unsupported("guests") }

  @concurrent public func upgrade(
    email: String, password: Secret, username: String, token: AccessToken
  ) async throws(SessionError) -> SignUpOutcome { throw .unsupported("guests") }

  @concurrent public func signInWithApple(idToken: Secret, nonce: String) async throws(SessionError) -> Grant {
    throw .unsupported("Sign in with Apple")
  }

  @concurrent public func requestPasswordReset(email: String) async throws(SessionError) {
    throw .unsupported("password reset")
  }

  @concurrent public func changePassword(
    from old: Secret, to new: Secret, endingOthers: Bool, token: AccessToken
  ) async throws(SessionError) { throw .unsupported("change of password") }

  @concurrent public func deleteAccount(password: Secret?, token: AccessToken) async throws(SessionError) {
    throw .unsupported("deletion of the account")
  }

  @concurrent public func endOtherSessions(token: AccessToken) async throws(SessionError) {
    throw .unsupported("ending other sessions")
  }

  @concurrent public func registerPushToken(_ pushToken: Secret?, token: AccessToken) async throws(SessionError) {
    throw .unsupported("push tokens")
  }
}
