/// The key of a request that begins a session, stored before the request is sent: a later attempt with the same account gets the same
/// session. Neither the password nor a code is stored.
public struct PendingSignIn: Sendable, Hashable {
  /// How long a key is sent again: 10 min. Then the server's session is forgotten as well.
  public static let life = Duration.seconds(600)

  public var key: RotationKey
  /// A digest of the method and the account. Not secret; two purposes with the same digest share a key, which is harmless: the server
  /// tells them apart.
  public var purpose: UInt64
  /// When the key was drawn, by the wall clock: it also counts after a reboot.
  public var startedAt: UnixTime

  public init(key: RotationKey, purpose: UInt64, startedAt: UnixTime) {
    self.key = key
    self.purpose = purpose
    self.startedAt = startedAt
  }

  /// A new key for a purpose.
  package init(for purpose: String, at now: UnixTime) {
    var random = SystemRandomNumberGenerator()
    // FNV-1a.
    let digest = purpose.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    self.init(key: RotationKey(from: &random), purpose: digest, startedAt: now)
  }

  /// Returns the sign-in whose key is used: this one, unless a stored one is for the same purpose, not too old, and not `used`.
  package func joined(to stored: PendingSignIn?, insteadOf used: RotationKey?) -> PendingSignIn {
    guard let stored, stored.purpose == purpose, stored.key != used,
      (.zero..<PendingSignIn.life).contains(startedAt.since(stored.startedAt))
    else { return self }
    return stored
  }
}
