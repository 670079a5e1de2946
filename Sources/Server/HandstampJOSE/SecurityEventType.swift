#if JOSE
/// The types of security events that this package sends or understands, by their URIs.
package enum SecurityEventType: String, Sendable, Hashable, CaseIterable {
  /// A user signed in (CAEP 1.0 section 3.7).
  case sessionEstablished = "https://schemas.openid.net/secevent/caep/event-type/session-established"
  /// A session ended (CAEP 1.0 section 3.1).
  case sessionRevoked = "https://schemas.openid.net/secevent/caep/event-type/session-revoked"
  /// A password, passkey or other credential was added, changed or removed (CAEP 1.0 section 3.3).
  case credentialChange = "https://schemas.openid.net/secevent/caep/event-type/credential-change"
  /// A credential is in the hands of another party (RISC 1.0 section 2.7).
  case credentialCompromise = "https://schemas.openid.net/secevent/risc/event-type/credential-compromise"
  /// The account cannot be used until it is enabled (RISC 1.0 section 2.3).
  case accountDisabled = "https://schemas.openid.net/secevent/risc/event-type/account-disabled"
  /// The account can be used again (RISC 1.0 section 2.4).
  case accountEnabled = "https://schemas.openid.net/secevent/risc/event-type/account-enabled"
  /// The account was permanently deleted (RISC 1.0 section 2.2).
  case accountPurged = "https://schemas.openid.net/secevent/risc/event-type/account-purged"
  /// A test of the connection (OpenID Shared Signals Framework 1.0 section 8.1.4.1).
  case verification = "https://schemas.openid.net/secevent/ssf/event-type/verification"
  /// A session ended at an OpenID provider (OpenID Connect Back-Channel Logout 1.0 section 2.4).
  case backChannelLogout = "http://schemas.openid.net/event/backchannel-logout"
}
#endif
