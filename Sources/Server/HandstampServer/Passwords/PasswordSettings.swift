#if Server
import Foundation

/// The passwords of a server: which it accepts, and how it hashes them.
public struct PasswordSettings: Sendable, Hashable {
  /// Which new passwords are accepted.
  public var policy = PasswordPolicy()
  /// Stronger parameters than before are used for existing passwords from their next sign-in.
  public var hashing = Argon2Parameters.recommended
  /// How many passwords are hashed at once. The default leaves one core for everything else, if there are several.
  public var threads = max(1, ProcessInfo.processInfo.activeProcessorCount - 1)
  /// How many further hashes may wait; more are answered 503. Default 64.
  public var queue = 64

  public init() {}
}
#endif
