#if Server
/// The actions of a signed-in person on their own account, at whichever door, and the proof that each asks for (OWASP ASVS 6.3.3, 7.5.1,
/// 7.5.2). ``AccountService/require(_:of:)`` asks for it.
enum OwnerAction: CaseIterable, Sendable {
  case signOut, renameOwnDevice, rename
  case allowClient, upgrade, cancelEmailChange, confirmEmailChange
  case endDevices, renameDevice, withdrawConsent
  case addPasskey, addApp
  case removePasskey, removeApp, makeRecoveryCodes, link, unlink, changeEmail
  case changePassword, setPassword, removePassword
  case download, delete

  enum Proof: Sendable {
    /// The session itself.
    case session
    /// A recent proof with any one factor: a lost device may be the second one.
    case oneFactor
    /// A recent proof, with a second factor where the operator requires one, or the account has an authenticator app.
    case strong
    /// The same; or a recovery code, which replaces the second factor. It is good for nothing else.
    case strongOrRecovery
  }

  var proof: Proof {
    switch self {
    // An address that is confirmed was asked for with a proof.
    case .signOut, .renameOwnDevice, .rename, .allowClient, .upgrade, .cancelEmailChange, .confirmEmailChange:
      .session
    // They remove no way in, and a mail tells the owner.
    case .endDevices, .renameDevice, .withdrawConsent: .oneFactor
    case .addPasskey, .addApp: .strongOrRecovery
    case .removePasskey, .removeApp, .makeRecoveryCodes, .link, .unlink, .changeEmail, .changePassword, .setPassword,
      .removePassword, .download, .delete:
      .strong
    }
  }
}
#endif
