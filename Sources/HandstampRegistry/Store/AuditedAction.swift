public import HandstampCore

/// One line of the server's audit log: who did what to which account, and from where.
public struct AuditedAction: Sendable, Hashable {
  public var at: UnixTime
  /// What was done, such as `account.disabled`; stable.
  public var action: String
  /// Who did it: `owner`, `operator`, `server`, or an administrator's name after `admin:`.
  public var actor: String
  public var account: AccountID?
  public var session: SessionID?
  /// The client's IP address, if there was a request.
  public var address: String?
  /// Further facts, as a JSON object. It must contain no secret.
  public var details: String

  public init(
    at: UnixTime, action: String, actor: String, account: AccountID? = nil, session: SessionID? = nil,
    address: String? = nil, details: String = "{}"
  ) {
    self.at = at
    self.action = action
    self.actor = actor
    self.account = account
    self.session = session
    self.address = address
    self.details = details
  }
}

/// An audited action that is durably stored.
public struct StoredAuditedAction: Sendable, Hashable, Identifiable {
  /// Its position in the log. IDs increase and are never reused.
  public let id: Int64
  public let audited: AuditedAction

  public init(id: Int64, audited: AuditedAction) {
    self.id = id
    self.audited = audited
  }
}
