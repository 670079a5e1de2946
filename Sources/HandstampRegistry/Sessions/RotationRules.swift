/// What a rotation goes by. The defaults are the safe ones; others exist to show that each is needed, by what an
/// exploration of client and server finds without it.
package struct RotationRules: Sendable, Hashable {
  /// How many rotations are remembered. With 2, a duplicate that comes late signs an honest client out.
  package var ringSize = KeyRing.size
  /// Whether a token's mark is compared with the rotation that made it. Without it, a store that lost a commit lets two
  /// holders go on along two branches, unseen.
  package var comparesMark = true
  /// Whether a keyed session is served without a key, like a plain one. If so, a thief leaves the key out and follows the
  /// victim unseen.
  package var servesKeyless = false
  /// How long a plain session gets the same successor again.
  package var replayWindow = Duration.seconds(30)

  package init() {}
}
