public import HandstampCore

/// What is known of a session whose tokens, or whose cookie, were never used. It has taken the place of no other session yet: if the
/// response with its tokens is lost, nothing has changed for the user.
public struct PendingSession: Sendable, Hashable, RawRepresentable {
  /// How long a session is shown, and its access tokens are accepted, before its first use: 10 min. No response is in flight for as
  /// long. A refresh, or a browser's cookie, begins its use also later, until an ordinary limit ends it: a client may have stored the
  /// response, and then have been offline.
  public static let life = Duration.seconds(600)
  /// How many such sessions a device may have with one account. One more ends the oldest.
  static let most = 3

  /// Whether the request that began it had a key and can be repeated, or it is a browser's. Others are shown from the beginning on,
  /// like those of servers without pending sessions.
  public var canBeForgotten: Bool
  /// A session of another account in the same browser that ends with the first use.
  public var replaces: SessionID?

  public init(canBeForgotten: Bool, replaces: SessionID? = nil) {
    self.canBeForgotten = canBeForgotten
    self.replaces = replaces
  }

  private static let (keyed, plain) = ("keyed", "plain")

  /// The stored form.
  public var rawValue: String {
    (canBeForgotten ? PendingSession.keyed : PendingSession.plain) + (replaces.map { " " + $0.rawValue } ?? "")
  }

  public init?(rawValue: String) {
    let parts = rawValue.split(separator: " ", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), [PendingSession.keyed, PendingSession.plain].contains(String(parts[0])) else {
      return nil
    }
    self.init(canBeForgotten: parts[0] == PendingSession.keyed, replaces: parts.dropFirst().first.map { SessionID(String($0)) })
  }
}

extension SessionRow {
  /// Whether the session has waited for its first use for too long: it is not shown, and its access tokens are refused. A refresh or
  /// its cookie still begins its use.
  public func isForgotten(at now: UnixTime) -> Bool {
    guard let pending, pending.canBeForgotten, counter == 0, lastSeenAt == createdAt else { return false }
    return now.since(createdAt) >= PendingSession.life
  }

  /// Whether it began before another; of two that began at the same time, one did.
  func isOlder(than other: SessionRow) -> Bool { (createdAt, id) < (other.createdAt, other.id) }
}
