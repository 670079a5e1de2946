public import HandstampCore

extension Grant {
  /// The `generation`-th answer of a server for the session `session`.
  public static func sample(_ generation: Int, session: String = "s1", life: Duration? = .seconds(600)) -> Grant {
    Grant(
      tokens: TokenSet(
        access: AccessToken("access-\(session)-\(generation)"), life: life,
        refresh: RefreshToken("refresh-\(session)-\(generation)")),
      session: SessionID(session), profile: Profile(id: AccountID("ada"), name: "Ada"),
      revocation: RevocationHandle("handle-\(session)"))
  }
}
