extension RefreshedTokens {
  /// The tokens of a response to a refresh. Lifetimes count from `since`, when the request was sent.
  init(_ grant: TokenResponse, sent: RefreshToken, since: Moment, revokesRefreshTokens: Bool) {
    let access = StoredAccess(
      grant.tokens.credential, lifetime: grant.tokens.expiresIn.map { Lifetime(start: since, duration: $0) })
    self.init(
      sent: sent, to: grant.tokens.refresh ?? sent, access: access, profile: grant.profile,
      usedKey: grant.acceptsRotationKey, revocation: grant.handle(revokesRefreshTokens: revokesRefreshTokens))
    idToken = grant.idToken.map { StoredIDToken($0, since: since) }
  }

  /// Sets the access token aside for another target; `nil` if it does not serve the one that was requested. The session keeps its own.
  mutating func setAside(for target: TokenTarget?, keeping own: StoredAccess?, since: Moment) {
    targeted = access
    self.target = target
    // A session without an access token of its own gets one that has expired.
    access = own ?? StoredAccess(access.credential, lifetime: Lifetime(start: since, duration: .zero))
  }
}
