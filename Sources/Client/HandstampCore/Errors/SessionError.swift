/// An error of a session.
///
/// Each case has a stable ``code``, a ``description`` (also as `localizedDescription`, on every platform), and a ``recovery``:
/// the step that can help.
@nonexhaustive
public enum SessionError: HandstampError, Hashable {
  /// There is no session: the last one ended for this reason, or `nil` if none is known to have ended. Every call after the end
  /// of a session gets this, and so do calls that were waiting when it ended, except as ``sessionEnded(_:)`` says.
  case signedOut(EndReason?)
  /// The server reported the end of this session, for this reason, in response to this very call, or to the refresh that it
  /// waits for. Later calls get ``signedOut(_:)`` with the same reason. Only signing in again helps.
  case sessionEnded(EndReason)
  /// The access token has expired, and the server issued no refresh token. The state stays `signedIn`: offer to sign in again.
  case noRefreshToken
  /// The server neither granted nor refused a refresh, a sign-in or another request. The session and its tokens are kept.
  /// Whether the same call may succeed later depends on the failure: see ``recovery``.
  ///
  /// `retryAfter` is how long to wait before that; `nil` if no delay is known. After a refresh it is at most
  /// ``RetryPolicy/cap``, whatever the server's `Retry-After`, or what remains of ``RefreshPolicy/responseTimeout`` if that is
  /// longer; until then, calls for a token that need a refresh fail without a request. After any other request it is the
  /// `Retry-After` of the response, if the backend reports it.
  case requestFailed(RequestError, retryAfter: Duration? = nil)
  /// The vault that stores the session cannot be used now, for this reason. Nothing was erased.
  case storage(VaultError)
  /// The stored session is older than the server's, as after restoring a backup: the server has replaced its refresh token.
  /// The data here was not erased, but the session is revoked at the server, if it has a ``TokenResponse/revocation``. Only signing
  /// in again helps.
  case storageOutdated
  /// The API rejects an access token that the server has just issued: check that the API's clock and expected `iss`/`aud` match
  /// the authorization server's. An account function of `ServerBackend` throws it for any access token that its server rejects;
  /// if the session has ended, its next refresh reports that.
  case tokenRejected
  /// The server refused the sign-in or the request. `code` is the server's own, such as `wrong_credentials`; `detail` is its
  /// message for humans, if any. Some functions of this package refuse with a code of their own, which they document.
  case refused(code: String, detail: String?)
  /// The response does not follow the protocol; the text gives the violation, without secrets.
  case invalidResponse(String)
  /// The backend or its server does not offer this feature.
  case unsupported(String)
  /// The user's presence was not confirmed, for this reason.
  case presence(PresenceError)
  /// The sign-in page could not be shown, for this reason. A page that the user closed is ``cancelled``.
  case redirect(RedirectError)
  /// The app's own `load` closure failed, with neither a ``SessionError`` nor a failed request. The text is the description of
  /// an error of this package, and the type of any other.
  case contentFailed(String)
  /// The calling task was cancelled, the user closed the sign-in page, or a later sign-in or sign-out took precedence.
  case cancelled
}

extension SessionError {
  /// A code in `snake_case`, shared with the command's `--json` output and the server's problem documents. Stable between
  /// releases, except that the code of ``refused(code:detail:)``, and of a ``RequestError/configuration(_:)``, is the
  /// server's own.
  public var code: String {
    switch self {
    case .signedOut: "signed_out"
    case .sessionEnded: "session_ended"
    case .noRefreshToken: "no_refresh_token"
    case .requestFailed(let failure, _): failure.code
    case .storage(let error): error.code
    case .storageOutdated: "storage_outdated"
    case .tokenRejected: "token_rejected"
    case .refused(let code, _): code
    case .invalidResponse: "invalid_response"
    case .unsupported: "not_offered"
    case .presence(let error): error.code
    case .redirect(let error): error.code
    case .contentFailed: "content_failed"
    case .cancelled: "cancelled"
    }
  }

  public var recovery: Recovery? {
    switch self {
    case .signedOut, .sessionEnded, .noRefreshToken, .storageOutdated: .signIn
    case .requestFailed(let failure, let delay):
      if case .retry? = failure.recovery { .retry(after: delay) } else { failure.recovery }
    case .storage(let error): error.recovery
    case .presence(let error): error.recovery
    case .redirect(let error): error.recovery
    case .tokenRejected: .fixConfiguration
    case .refused, .invalidResponse, .unsupported, .contentFailed, .cancelled: nil
    }
  }

  /// The error of a request without a decision.
  package init(_ failure: RequestError) {
    switch failure {
    case .preparation(let error): self = error
    case .network(.cancelled): self = .cancelled
    case .network, .server, .configuration, .unusableTokens, .clock: self = .requestFailed(failure)
    }
  }

  /// The error of a request that got no response: ``requestFailed(_:retryAfter:)``, or ``cancelled``.
  public init(_ error: TransportError) {
    self = error == .cancelled ? .cancelled : .requestFailed(.network(error))
  }
}

extension SessionError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .signedOut(nil): "not signed in"
    case .signedOut(let reason?): "not signed in: \(reason.sentence)"
    case .sessionEnded(let reason): "the server ended the session: \(reason.sentence)"
    case .noRefreshToken: "the access token has expired, and this session has no refresh token"
    case .requestFailed(let failure, _): failure.description
    case .storage(let error): "the session's storage cannot be used: \(error)"
    case .storageOutdated: "the stored session is older than the server's: it was restored from a backup"
    case .tokenRejected: "the API rejects an access token that the server has just issued"
    case .refused(let code, let detail):
      detail.map { "refused by the server: \($0) (\(code))" } ?? "refused by the server: \(code)"
    case .invalidResponse(let text): "unexpected response from the server: \(text)"
    case .unsupported(let feature): "not offered by this server: \(feature)"
    case .presence(let error): error.description
    case .redirect(let error): error.description
    case .contentFailed(let cause): "the app's content could not be loaded: \(cause)"
    case .cancelled: "cancelled"
    }
  }
}

extension EndReason {
  /// A phrase for users, for the end of a sentence.
  package var sentence: String {
    switch self {
    case .signedOut: "signed out"
    case .revoked: "ended from another device"
    case .replaced: "this device signed in again"
    case .tokenReuseDetected: "its refresh token or a sign-in code was used twice"
    case .expired: "it reached its maximum age"
    case .idle: "it was not used for too long"
    case .accountClosed: "the account was closed"
    case .endedAtProvider(nil): "the provider that you signed in with ended it"
    case .endedAtProvider(let name?): "ended at \(name)"
    case .repeatRefused: "the server did not accept a repeat after a lost response"
    case .rejected: "the server no longer accepts it"
    case .erased: "it was erased from this device"
    }
  }
}
