/// An entry of an audit log. Never contains a secret.
public struct AuditEntry: Sendable, Hashable {
  /// The kind of event.
  @nonexhaustive
  public enum Action: Sendable, Hashable {
    /// A sign-in succeeded or failed.
    case signIn(SignInMethod)
    /// A stored session was restored at launch.
    case restore
    /// A refresh succeeded or failed.
    case refresh
    /// Another process's tokens were adopted.
    case adopt
    /// The session ended, or its revocation was refused.
    case end
    /// The vault or the server prevents the session from being used.
    case trouble
    /// The user was asked to confirm their presence.
    case presence
    /// A clean-up step of a sign-out succeeded or failed.
    case cleanUp
    /// An event of the log itself: rotated, a torn line set aside, entries lost.
    case log
    /// An event that only another version of the program knows, by its name.
    case other(String)
  }

  public var action: Action
  public var session: SessionID?
  /// Whose session it is; `nil` if the server did not name the user, and for a sign-in that failed.
  public var account: AccountID?
  /// The address that was typed for a sign-in that failed. User names are left out: people type passwords into that field.
  public var address: String?
  /// When it happened, by the device's wall clock.
  public var at: UnixTime
  /// `ok`; for an end, its ``EndReason``; otherwise a short code for the failure, such as `wrong_credentials`.
  public var outcome: String

  public init(
    action: Action, session: SessionID?, account: AccountID?, address: String? = nil, at: UnixTime, outcome: String
  ) {
    self.action = action
    self.session = session
    self.account = account
    self.address = address
    self.at = at
    self.outcome = outcome
  }
}

extension AuditEntry {
  /// A sign-in that failed.
  ///
  /// - Parameter account: the account in use; named only if the sign-in was to continue it.
  package init(failed claim: SignInClaim, inUse account: AccountID?, _ error: SessionError, at now: UnixTime) {
    self.init(
      action: .signIn(claim.method), session: nil, account: claim.method.continuesAccount ? account : nil,
      address: claim.address, at: now, outcome: AuditEntry.outcome(of: error.code))
  }

  /// The error code of a failure as it is written to logs: `refused` unless it is at most 40 characters of `a` to `z` and `_`. A
  /// server may send anything.
  package static func outcome(of code: String) -> String {
    let isWord = code.utf8.count <= 40 && code.utf8.allSatisfy { $0 == 0x5f || (0x61...0x7a).contains($0) }
    return isWord ? code : "refused"
  }
}

extension AuditEntry.Action: CustomStringConvertible {
  /// The name in the log's file, such as `sign_in`.
  public var description: String {
    switch self {
    case .signIn: "sign_in"
    case .restore: "restore"
    case .refresh: "refresh"
    case .adopt: "adopt"
    case .end: "end"
    case .trouble: "trouble"
    case .presence: "presence"
    case .cleanUp: "clean_up"
    case .log: "log"
    case .other(let name): name
    }
  }

  /// - Parameter method: of a sign-in; one that this version does not know is ``SignInMethod/other``.
  package init(_ name: String, method: String?) {
    let known: [Self] = [.restore, .refresh, .adopt, .end, .trouble, .presence, .cleanUp, .log]
    switch name {
    case "sign_in": self = .signIn(method.flatMap { SignInMethod(rawValue: $0) } ?? .other)
    default: self = known.first { $0.description == name } ?? .other(name)
    }
  }

  /// How the user signed in; `nil` for other events.
  package var method: SignInMethod? {
    if case .signIn(let method) = self { method } else { nil }
  }
}
