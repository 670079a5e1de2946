/// How many rows of each kind a store has.
public struct RegistryCounts: Sendable, Hashable {
  /// Accounts that are neither closed nor deleted.
  public var accounts: Int
  /// Those of ``accounts`` without an address and an identity.
  public var guests: Int
  /// Sessions that were not ended; some may have expired already.
  public var liveSessions: Int
  public var endedSessions: Int
  public var oneTimeTokens: Int
  public var items: Int
  public var events: Int
  public var auditedActions: Int

  public init(
    accounts: Int = 0, guests: Int = 0, liveSessions: Int = 0, endedSessions: Int = 0, oneTimeTokens: Int = 0,
    items: Int = 0, events: Int = 0, auditedActions: Int = 0
  ) {
    self.accounts = accounts
    self.guests = guests
    self.liveSessions = liveSessions
    self.endedSessions = endedSessions
    self.oneTimeTokens = oneTimeTokens
    self.items = items
    self.events = events
    self.auditedActions = auditedActions
  }
}
