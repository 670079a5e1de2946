import Crypto
public import HandstampCore

/// Something that the servers on a store remember for a while, besides accounts and sessions.
public struct StoredItem: Sendable, Hashable, Identifiable {
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// Wrong passwords in a row, see ``GuessCount``.
    case guesses
    /// A device that an account is used on.
    case device
    /// An OAuth client that the owner of an account was told of.
    case client
    /// The permission of an account's owner for an OAuth client, see ``Consent``.
    case consent
    /// The address that the owner of an account wants instead, see ``EmailChange``.
    case emailChange = "email_change"
    /// A passkey of an account, see ``PasskeyRecord``.
    case passkey
    /// A user of another provider who may sign in to an account, see ``LinkedIdentity``.
    case identity
    /// The hashes of the unused recovery codes of an account, see ``RecoveryCode``.
    case recoveryCodes = "recovery_codes"
    /// The authenticator app of an account, see ``TOTPRecord``.
    case totp
    /// Apple's grant to the app for an account, see `AppleGrant`.
    case appleGrant = "apple_grant"
    /// The groups that administrators have put an account into, see ``Registry/groups(of:)``.
    case groups
    /// A pending back-channel logout.
    case logout
    /// A mail that is still to be sent, or was asked for a moment ago.
    case mail
    /// That the store could be written, see ``Registry/checkUsable(now:)``.
    case probe
    /// That a master key was the current one of a server, and until when, see ``Registry/lastUse(of:)``.
    case masterKey = "master_key"
    /// The issuer and the signing keys of a running server, which those on one store have in common.
    case nodeKeys = "node_keys"
    /// How long access tokens of a server live, see ``Registry/longestTokenLife(now:)``.
    case tokenLife = "token_life"
    /// How far the audit log was copied to the servers' log, see ``Registry/takeAuditedActions(limit:now:)``.
    case auditCopy = "audit_copy"
    /// A client that gets tokens for itself, see ``MachineRecord``.
    case machine
    /// A client that has registered itself, see `RegisteredClient`.
    case registration
    /// A receiver of events, see ``Webhook``.
    case webhook
    /// An event that a receiver has not taken, see ``DeadLetter``.
    case deadLetter = "dead_letter"
    /// A refresh token of the system that the users come from, see `FormerToken`.
    case formerToken = "former_token"
    /// A session that is to be ended at the former system, see `FormerEnd`.
    case formerEnd = "former_end"
    /// A removal by an owner or an administrator. A database without it is an older copy.
    case removal
    /// That a session depends on one at another identity provider, see ``UpstreamSession``.
    case upstreamSession = "upstream_session"
    /// The last end that a provider has announced for a user or a session there, see `UpstreamMark`.
    case upstreamEnd = "upstream_end"
    /// An event of a provider that was applied, so that a repeat has no effect; and the name of the provider where a session ended.
    case upstreamEvent = "upstream_event"
  }

  /// The life of an item that holds until it is removed.
  package static let forever = Duration.seconds(36_500 * 86_400)

  public let id: StoredItemID
  public let kind: Kind
  /// The owner of the item, such as an account, so that ``RegistryChange/removeItems(_:subject:)`` finds it.
  public let subject: String
  /// Further data, in a format of its kind. It must contain no secret, unless sealed.
  public var payload: String
  public private(set) var createdAt: UnixTime
  /// When there is something to do, for ``RegistryStore/dueItems(_:at:limit:)``; `nil` if there never is.
  public var dueAt: UnixTime?
  /// The first instant at which it no longer holds, and may be deleted.
  public var expiresAt: UnixTime
  /// Incremented by every write, so that writers detect concurrent changes.
  public var revision: Int64

  public init(
    id: StoredItemID, kind: Kind, subject: String = "", payload: String = "", createdAt: UnixTime,
    dueAt: UnixTime? = nil,
    expiresAt: UnixTime, revision: Int64 = 0
  ) {
    self.id = id
    self.kind = kind
    self.subject = subject
    self.payload = payload
    self.createdAt = createdAt
    self.dueAt = dueAt
    self.expiresAt = expiresAt
    self.revision = revision
  }

  /// The item with its times moved if it was created in the span.
  func moved(by shift: TimeShift) -> StoredItem {
    guard shift.span.contains(createdAt) else { return self }
    var item = self
    item.createdAt = createdAt.advanced(by: shift.distance)
    item.dueAt = dueAt?.advanced(by: shift.distance)
    item.expiresAt = expiresAt.advanced(by: shift.distance)
    item.revision += 1
    return item
  }
}

/// A hash of what an item is about, together with its kind, so that the key of a row reveals neither.
public struct StoredItemID: Sendable, Hashable, Comparable {
  public static let count = 32
  public let bytes: [UInt8]

  /// Returns `nil` unless there are exactly 32 bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == StoredItemID.count else { return nil }
    self.bytes = Array(bytes)
  }

  /// - Parameter parts: the texts that name the item, in order. Each is hashed with its length, so that no two lists are alike.
  public init(_ kind: StoredItem.Kind, _ parts: String...) {
    var hash = SHA256()
    for part in [kind.rawValue] + parts {
      hash.update(data: Array("\(part.utf8.count):\(part)".utf8))
    }
    bytes = Array(hash.finalize())
  }

  public static func < (left: StoredItemID, right: StoredItemID) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}
