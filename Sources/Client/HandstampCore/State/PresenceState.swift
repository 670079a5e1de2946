/// Whether tokens are available without a presence check.
public enum PresenceState: Sendable, Hashable {
  /// The user must confirm their presence first.
  case locked
  /// The user is being asked.
  case confirming
  /// Presence was confirmed; tokens are available.
  case open
}
