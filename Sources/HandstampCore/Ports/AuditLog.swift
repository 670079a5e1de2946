/// Takes down who did what, and how it ended. Entries come in order, one at a time.
public protocol AuditLog: Sendable {
  @concurrent func record(_ entry: AuditEntry) async
}

/// One line of an audit log. It never holds a secret.
public struct AuditEntry: Sendable, Hashable {
  public enum Action: String, Sendable, Hashable, Codable {
    case signIn = "sign_in"
    case restore
    case refresh
    case adopt
    case end
    case trouble
  }

  public var action: Action
  public var session: SessionID?
  public var account: AccountID?
  public var at: UnixTime
  /// `ok`, or a short word for what went wrong.
  public var outcome: String

  public init(action: Action, session: SessionID?, account: AccountID?, at: UnixTime, outcome: String) {
    self.action = action
    self.session = session
    self.account = account
    self.at = at
    self.outcome = outcome
  }
}
