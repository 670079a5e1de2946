public import HandstampCore

/// An event of a session or an account, in the vocabulary of CAEP 1.0 and RISC 1.0 (OpenID Shared Signals).
public struct RegistryEvent: Sendable, Hashable {
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// A user signed in (CAEP section 3.7).
    case sessionEstablished = "session-established"
    /// A session ended; the reason says why (CAEP section 3.1).
    case sessionRevoked = "session-revoked"
    /// A password was set, changed or reset (CAEP section 3.3).
    case credentialChange = "credential-change"
    /// The account was closed (RISC section 2.3).
    case accountDisabled = "account-disabled"
    /// The account was opened again (RISC section 2.4).
    case accountEnabled = "account-enabled"
    /// The account was permanently deleted (RISC section 2.2).
    case accountPurged = "account-purged"
  }

  public var kind: Kind
  /// The account; the client, if the session is that of a client's own tokens, see ``MachineRecord``.
  public var account: AccountID
  /// `nil` for an event of the whole account.
  public var session: SessionID?
  /// Why a session ended; `nil` for the other kinds.
  public var reason: EndReason?
  public var at: UnixTime

  public init(kind: Kind, account: AccountID, session: SessionID? = nil, reason: EndReason? = nil, at: UnixTime) {
    self.kind = kind
    self.account = account
    self.session = session
    self.reason = reason
    self.at = at
  }
}

/// The position of an event in the store's single sequence of events. IDs increase and are never reused.
public struct EventID: RawRepresentable, Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  public let rawValue: Int64
  public init(rawValue: Int64) { self.rawValue = rawValue }

  /// Before the first event.
  public static let zero = EventID(rawValue: 0)
  public var description: String { String(rawValue) }
  public static func < (left: EventID, right: EventID) -> Bool { left.rawValue < right.rawValue }
}

/// An event that is durably stored.
public struct StoredEvent: Sendable, Hashable, Identifiable {
  public let id: EventID
  public let event: RegistryEvent

  public init(id: EventID, event: RegistryEvent) {
    self.id = id
    self.event = event
  }
}
