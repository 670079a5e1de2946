/// Why a session ended. The raw value is what tombstones, answers of the server and its events carry.
public enum EndReason: String, Sendable, Hashable, Codable, CaseIterable {
  /// The person signed out on this device.
  case signedOut = "signed_out"
  /// Ended from another device, or by an operator.
  case revoked
  /// The same device signed in again.
  case replaced
  /// Two holders of one refresh token were seen: it had been copied.
  case misused
  /// The session reached its greatest age.
  case expired
  /// Nobody used the session for too long.
  case idle
  /// The account was disabled or deleted.
  case accountClosed = "account_closed"
  /// The server accepts the session no longer and did not say why.
  case rejected
  /// The stored session was gone, without a tombstone to say why.
  case erased
}
