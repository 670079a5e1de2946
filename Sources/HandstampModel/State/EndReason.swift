/// Why a session ended.
///
/// The raw value is stored in the vault, sent in the server's responses and events, and written to the audit log: it does not
/// change between releases. An unknown raw value, of a newer program or server, is read as ``rejected`` by this package, and as
/// `nil` in a `SessionEvent`; `Codable` throws for one.
@nonexhaustive
public enum EndReason: String, Sendable, Hashable, Codable, CaseIterable {
  /// The user signed out on this device.
  case signedOut = "signed_out"
  /// Ended from another device, or by an operator.
  case revoked
  /// Another sign-in on the same device took its place, with the same account or another.
  case replaced
  /// A refresh token (RFC 9700 section 4.14.2) or a sign-in code was used twice: it had been copied, or, where neither a key nor a
  /// proof tells them apart, a request was delivered late.
  case tokenReuseDetected = "token_reuse"
  /// The session reached its maximum age.
  case expired
  /// The session was not used for too long.
  case idle
  /// The account was disabled or deleted.
  case accountClosed = "account_closed"
  /// The identity provider that the user had signed in with, such as Google, has ended the sign-in there, or the user's account.
  case endedAtProvider = "ended_at_provider"
  /// The server did not accept the repeat of a refresh whose response was lost. An overlap at the server, see
  /// ``RefreshTokenReuse/overlap(_:)``, prevents that.
  case repeatRefused = "repeat_refused"
  /// The server no longer accepts the session and gave no reason, or one that this version does not know.
  case rejected
  /// The stored session is missing, and so is the record of its end that would give the reason.
  case erased

  /// Reads what this version writes, and `misused`, which vaults, databases, logs and servers of earlier versions have in place of
  /// `token_reuse`.
  public init?(rawValue: String) {
    let current = rawValue == "misused" ? "token_reuse" : rawValue
    guard let reason = Self.allCases.first(where: { $0.rawValue == current }) else { return nil }
    self = reason
  }
}
