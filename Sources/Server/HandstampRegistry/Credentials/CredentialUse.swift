package import HandstampCore

/// A password, a passkey, a recovery code, a one-time password or an identity at another provider that a user has signed in
/// with, to be recorded in the write that begins the session: it counts only if it was not used at the same time, or removed.
public struct CredentialUse: Sendable, Hashable {
  public let account: AccountRecord
  let way: SignInWay
  /// How it proves that its user is the owner.
  public let methods: AuthenticationMethods
  let changes: [RegistryChange]
  /// When the user proved it, if that was not just now.
  var authenticatedAt: UnixTime?
  /// When a session that begins by it ends at the latest, besides the limits.
  var latestExpiry: UnixTime?
  /// The session at the provider that the user has signed in with; `nil` for a credential of this server.
  public var upstream: UpstreamSession?

  /// How long a session lasts in which a lost factor is replaced.
  package static let recovery = Duration.seconds(3600)

  /// A recovery code beside another proof, for an account that one factor alone must not open (NIST SP 800-63B-4 section 4.2.2). The
  /// session may only set up a new factor, and ends soon.
  ///
  /// - Parameter other: `nil` if the account has none.
  package func beside(_ other: CredentialUse?, now: UnixTime) -> CredentialUse {
    var use = CredentialUse(
      account: account, way: way, methods: .recovered, changes: changes + (other?.changes ?? []))
    use.latestExpiry = now.advanced(by: CredentialUse.recovery)
    return use
  }

  /// A password alone, which was checked against exactly this record of the account. Its use changes nothing.
  public static func password(of account: AccountRecord) -> CredentialUse {
    CredentialUse(account: account, way: .password, methods: .password, changes: [])
  }
}

/// How a user has shown to be an account's owner. The raw value is in the audit log.
public enum SignInWay: String, Sendable, Hashable, CaseIterable {
  case password, passkey
  /// A password, and a one-time password of an authenticator app.
  case passwordAndCode = "password_and_code"
  case recoveryCode = "recovery_code"
  /// A code that was mailed, for a new password or an address.
  case mailedCode = "mailed_code"
  /// A new account.
  case signUp = "sign_up"
  /// A guest, who has shown nothing.
  case guest
  /// A guest who has become a full account.
  case upgrade
  /// Another identity provider.
  case provider
  /// A client's authorization code, for a browser that was signed in.
  case authorizationCode = "authorization_code"
  /// A device's code, which a browser that was signed in has allowed.
  case deviceCode = "device_code"
  /// A refresh token of the system that the users come from.
  case formerSession = "former_session"
}
