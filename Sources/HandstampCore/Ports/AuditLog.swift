/// Takes down who did what, and how it ended. Entries come in order, one at a time.
public protocol AuditLog: Sendable {
  /// Returns when the entry is as safe as this log makes it. A log that cannot write keeps what it is given, and never
  /// stops a session.
  @concurrent func record(_ entry: AuditEntry) async

  /// The newest entry that is durable; a vault's next edit takes it along, so that a cut before it is found. Read often,
  /// from any thread.
  var head: AuditHead? { get }

  /// What a vault has stored for a head: a log that ends before it was cut.
  func found(_ stored: AuditHead)
}

extension AuditLog {
  /// A log without a chain.
  public var head: AuditHead? { nil }
  public func found(_ stored: AuditHead) {}
}

/// What is to be taken down. It never holds a secret.
public struct AuditEntry: Sendable, Hashable {
  /// What was done. An open list: programs of other versions may write other words.
  public struct Action: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    public static let signIn = Action(rawValue: "sign_in")
    public static let restore = Action(rawValue: "restore")
    public static let refresh = Action(rawValue: "refresh")
    /// Another process's tokens were taken over.
    public static let adopt = Action(rawValue: "adopt")
    public static let end = Action(rawValue: "end")
    /// The vault or the server keeps the session from being used.
    public static let trouble = Action(rawValue: "trouble")
    /// The person was asked to show that they are there.
    public static let presence = Action(rawValue: "presence")
    /// Another account became the active one.
    public static let activate = Action(rawValue: "activate")
    /// What a sign-out leaves to clear was cleared, or could not be.
    public static let cleanUp = Action(rawValue: "clean_up")
    /// The log itself: rotated, a torn line set aside, entries lost.
    public static let log = Action(rawValue: "log")
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
