/// The session's ID token. It is handed out while it is valid, and decides nothing about the session.
extension SessionMachine {
  /// The ID token of the session in use; `nil` without a session, or if no response brought one.
  package var idToken: StoredIDToken? { live?.unsaved?.idToken ?? live?.stored.idToken }

  /// Whether the vault shows only the access token now: whether there is an ID token is not known.
  package var hasLockedIDToken: Bool { live?.hasOnlyAccess ?? false }

  /// Whether a refresh may bring an ID token that is valid for `validity`: not if the one in use was too old at the last refresh
  /// already, which brought no other.
  package func mayRenewIDToken(for validity: Duration) -> Bool {
    guard let idToken, let refreshed = live?.access?.lifetime?.start else { return idToken != nil }
    return SessionMachine.serves(idToken.lifetime, for: validity, at: refreshed)
  }
}
