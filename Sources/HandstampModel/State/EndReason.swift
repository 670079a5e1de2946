/// Why a session ended. Tombstones, server responses and events carry the raw value.
@nonexhaustive
public enum EndReason: String, Sendable, Hashable, Codable, CaseIterable {
  /// The user signed out on this device.
  case signedOut = "signed_out"
  /// Ended from another device, or by an operator.
  case revoked
  /// The same device signed in again.
  case replaced
  /// Token reuse: two clients presented the same refresh token, so it had been copied.
  case tokenReuseDetected = "misused"
  /// The session reached its maximum age.
  case expired
  /// The session was not used for too long.
  case idle
  /// The account was disabled or deleted.
  case accountClosed = "account_closed"
  /// The server no longer accepts the session and gave no reason.
  case rejected
  /// The stored session is missing, without a tombstone that gives the reason.
  case erased
}
