/// How a server without rotation keys treats a refresh token that it has replaced, as far as that is known.
///
/// It decides how soon a refresh without a usable response is repeated; never whether two are in flight at once.
public enum RefreshTokenReuse: Sendable, Hashable {
  /// The server does not replace refresh tokens. Disregarded once it has.
  case notRotated
  /// The server accepts the token again for this long after its first use (an overlap, grace period, leeway or reuse interval).
  case overlap(Duration)
  /// The server accepts the predecessor of the token in use at any time.
  case predecessor
  /// The server accepts no second use.
  case never
}
