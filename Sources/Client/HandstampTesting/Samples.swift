public import HandstampCore

extension TokenResponse {
  /// The `generation`-th token response of a server for the session `session`.
  public static func sample(_ generation: Int, session: String = "s1", life: Duration? = .seconds(600)) -> TokenResponse
  {
    TokenResponse(
      tokens: TokenSet(
        access: AccessToken("access-\(session)-\(generation)"), expiresIn: life,
        refresh: RefreshToken("refresh-\(session)-\(generation)")),
      sessionID: SessionID(session), profile: Profile(id: AccountID("ada"), name: "Ada"),
      revocation: RevocationHandle("handle-\(session)"))
  }
}
