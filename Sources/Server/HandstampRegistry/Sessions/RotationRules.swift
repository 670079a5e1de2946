#if Exploration
/// The rules of rotation. The defaults are the safe ones; the exploration of client and server uses others to show that each
/// rule is needed.
package struct RotationRules: Sendable, Hashable {
  /// How many rotations are remembered. With 2, a late duplicate signs an honest client out.
  package var ringSize = KeyRing.size
  /// Whether a token's mark is compared with the rotation that made it. Without it, after a store has lost a commit, two
  /// holders can go on along two branches undetected.
  package var comparesMark = true
  /// Whether a session of the server's own protocol is served without a key. If so, a thief can leave the key out and follow the
  /// victim undetected.
  package var servesKeyless = false
  /// Whether a keyed OAuth session gets a drawn rotation's successor again for a key. If so, a thief who leaves the key out, and is
  /// always first, can follow the victim undetected.
  package var repeatsDrawnWithKey = false

  package init() {}
}
#else
/// The rules of rotation, as constants: only the trait `Exploration` makes them variable.
struct RotationRules: Sendable, Hashable {
  let ringSize = KeyRing.size
  let comparesMark = true
  let servesKeyless = false
  let repeatsDrawnWithKey = false
}
#endif
