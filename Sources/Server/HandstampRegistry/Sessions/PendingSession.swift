public import HandstampCore

/// The state of a session whose tokens, or whose cookie, were never used. It has taken the place of no other session yet: if the
/// response with its tokens is lost, nothing has changed for the user.
public struct PendingSession: Sendable, Hashable {
  /// How long a session is shown, and its access tokens are accepted, before its first use: 10 min. No response is in flight for as
  /// long. A refresh, or a browser's cookie, begins its use also later, until an ordinary limit ends it: a client may have stored the
  /// response, and then have been offline.
  public static let life = Duration.seconds(600)
  /// How many such sessions a device may have with one account. One more ends the oldest.
  static let most = 3

  /// Whether the request that began it had a key and can be repeated, or it is a browser's. Others are shown from the beginning on,
  /// like those of servers without pending sessions.
  public var canBeForgotten: Bool
  /// The sessions that end with the first use: those that the device had when this one began, and one of another account that a browser
  /// leaves. Named, not compared by time: the clocks of two servers differ, and a late request must not end a newer session.
  public var replaces: [SessionID]

  public init(canBeForgotten: Bool, replaces: [SessionID] = []) {
    self.canBeForgotten = canBeForgotten
    self.replaces = replaces
  }
}

extension SessionRow {
  /// Whether the session has waited for its first use for too long: it is not shown, and its access tokens are refused. A refresh or
  /// its cookie still begins its use.
  public func isForgotten(at now: UnixTime) -> Bool {
    guard let pending, pending.canBeForgotten, counter == 0, lastSeenAt == createdAt else { return false }
    return now.since(createdAt) >= PendingSession.life
  }
}
