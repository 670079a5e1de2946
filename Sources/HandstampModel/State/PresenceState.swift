/// Whether tokens are handed out.
public enum PresenceState: Sendable, Hashable {
  /// Somebody must be shown to be there first.
  case locked
  /// They are being asked.
  case confirming
  case open
}
