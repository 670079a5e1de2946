/// Access tokens for other targets than the session's own, from the same refresh token. They are stored with the session, unless they
/// have no lifetime, and end with it.
extension SessionMachine {
  /// The target of the next refresh: the session's own token first.
  func nextTarget(at now: Moment) -> TokenTarget? {
    guard let live else { return nil }
    if isDueAhead(live, at: now) || waiters.values.contains(where: { $0.target == nil }) { return nil }
    return waiters.values.lazy.compactMap(\.target).min()
  }

  /// The token that serves a caller now.
  func token(for need: Need, of live: Live, at now: Moment) -> StoredAccess? {
    let known = need.target.map { [live.targeted[$0], live.stored.targeted[$0]] } ?? [live.access]
    return known.compactMap(\.self).first { access in
      need.refused != access.credential && SessionMachine.serves(access.lifetime, for: need.validity, at: now)
    }
  }

  /// Whether a token that is known serves each caller for `target`.
  func isServed(_ target: TokenTarget, at now: Moment) -> Bool {
    guard let live else { return false }
    return waiters.values.allSatisfy { $0.target != target || token(for: $0, of: live, at: now) != nil }
  }

  /// Why a granted token does not serve its target.
  func objection(to grant: TokenResponse, for target: TokenTarget) -> SessionError? {
    guard let scopes = grant.scopes, !target.scopes.allSatisfy(scopes.contains) else { return nil }
    return .requestFailed(
      .configuration(
        .init(status: 200, error: "invalid_scope", detail: "the server grants less than was requested")))
  }

  /// The server refused a token for a target: only callers for it get the error, and the session goes on. Only the session's own
  /// refresh ends a session.
  mutating func targetRefused(_ error: SessionError, at now: Moment) -> [Effect] {
    live?.attemptState = .harmless
    live?.refresh?.failure = error
    return withdraw(failing: error, at: now)
  }
}
