/// Records the events of a session and their outcomes. Entries come in order, one at a time.
public protocol AuditLog: Sendable {
  /// Returns when the entry is as durable as this log makes it. A log that cannot write keeps its entries, and never stops a
  /// session.
  @concurrent func record(_ entry: AuditEntry) async

  /// The newest durable entry; the vault's next edit stores it, so that a truncation before it is detected. Read often, from
  /// any thread.
  var head: AuditHead? { get }

  /// Reports the head that a vault has stored: a log that ends before it was truncated.
  func found(_ stored: AuditHead)
}

extension AuditLog {
  /// A log without a chain.
  public var head: AuditHead? { nil }
  public func found(_ stored: AuditHead) {}
}

/// An entry of an audit log. Never contains a secret.
public struct AuditEntry: Sendable, Hashable {
  /// The kind of event. An open list: programs of other versions may write other values.
  public struct Action: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// A sign-in succeeded or failed.
    public static let signIn = Action(rawValue: "sign_in")
    /// A stored session was restored at launch.
    public static let restore = Action(rawValue: "restore")
    /// A refresh succeeded or failed.
    public static let refresh = Action(rawValue: "refresh")
    /// Another process's tokens were adopted.
    public static let adopt = Action(rawValue: "adopt")
    /// The session ended, or its revocation was refused.
    public static let end = Action(rawValue: "end")
    /// The vault or the server prevents the session from being used.
    public static let trouble = Action(rawValue: "trouble")
    /// The user was asked to confirm their presence.
    public static let presence = Action(rawValue: "presence")
    /// Another account became the active one.
    public static let activate = Action(rawValue: "activate")
    /// A clean-up step of a sign-out succeeded or failed.
    public static let cleanUp = Action(rawValue: "clean_up")
    /// An event of the log itself: rotated, a torn line set aside, entries lost.
    public static let log = Action(rawValue: "log")
  }

  public var action: Action
  public var session: SessionID?
  public var account: AccountID?
  /// When it happened, by the device's wall clock.
  public var at: UnixTime
  /// `ok`, or a short code for the failure.
  public var outcome: String

  public init(action: Action, session: SessionID?, account: AccountID?, at: UnixTime, outcome: String) {
    self.action = action
    self.session = session
    self.account = account
    self.at = at
    self.outcome = outcome
  }
}
