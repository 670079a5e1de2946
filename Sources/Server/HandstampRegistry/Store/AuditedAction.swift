public import HandstampCore
import HandstampSupport

/// One line of the server's audit log: who did what to which account, and from where.
public struct AuditedAction: Sendable, Hashable {
  /// The actions that this version logs.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    case accountCreated = "account.created"
    case accountDisabled = "account.disabled"
    case accountEnabled = "account.enabled"
    case accountDeleted = "account.deleted"
    /// Everything that is stored about a person was given to an administrator.
    case accountExported = "account.exported"
    /// Accounts of another system began to be stored.
    case importBegan = "accounts.import_began"
    /// They were stored, as the details count; with an account, it got what the details name.
    case accountsImported = "accounts.imported"
    /// Someone signed in: a session began. The details say in which way, see ``SignInWay``, and on which device.
    case signedIn = "session.began"
    /// The owner of a session proved it again.
    case reauthenticated = "session.reauthenticated"
    /// A sign-in was refused. Logged for the first one in a row; ``guessesStopped`` tells of more.
    case signInRefused = "sign_in.refused"
    /// An administrator put an account into groups, or took it out of some.
    case groupsChanged = "account.groups_changed"
    case passwordChanged = "password.changed"
    case emailChanged = "email.changed"
    /// A new password was set with a one-time code.
    case passwordReset = "password.reset"
    case passwordRemoved = "password.removed"
    /// An administrator took the account back for its owner: every way into it was removed, see ``TakeBack/everything``.
    case takenBack = "account.taken_back"
    case passkeyAdded = "passkey.added"
    case passkeyRemoved = "passkey.removed"
    /// The signature of a passkey was valid, but its counter did not go up: it may have been copied.
    case passkeyRefused = "passkey.refused"
    /// An authenticator app was set up: sign-ins with the password need its codes.
    case totpAdded = "totp.added"
    case totpRemoved = "totp.removed"
    /// A user of another provider may sign in to the account.
    case identityLinked = "identity.linked"
    case identityUnlinked = "identity.unlinked"
    case recoveryCodesMade = "recovery_codes.made"
    /// A recovery code signed in.
    case recoveryCodeUsed = "recovery_codes.used"
    /// An administrator was given a code that sets a new password.
    case resetCodeIssued = "password.reset_code_issued"
    /// So many wrong passwords were tried in a row that further ones have to wait. Logged when they begin to be slowed,
    /// and when they are stopped.
    case guessesStopped = "password.guesses_stopped"
    /// An administrator ended a session.
    case sessionEnded = "session.ended"
    /// A session ended because another identity provider said so, see ``UpstreamEnd``. The details have the provider's `name`.
    case sessionEndedAtProvider = "session.ended_at_provider"
    /// All sessions of an account were ended, but perhaps one.
    case sessionsEnded = "sessions.ended"
    /// A refresh that carried no key and no proof was repeated within the overlap, and got the same successor.
    case refreshRepeated = "session.refresh_repeated"
    /// An authorization code was presented again at once, with its verifier: nothing was issued, and nothing ended.
    case codeRepeated = "session.code_repeated"
    /// A refresh token or a code was used a second time.
    case theftDetected = "session.theft_detected"
    /// The owner no longer allows an OAuth client anything.
    case consentWithdrawn = "consent.withdrawn"
    /// A client got a token for itself: its first one lately, or one at another address than before.
    case machineToken = "machine.token_issued"
    /// All tokens that a client has got for itself were ended.
    case machineTokensEnded = "machine.tokens_ended"
    /// A client has registered itself.
    case clientRegistered = "client.registered"
    /// An administrator removed such a client.
    case clientRemoved = "client.removed"
    case webhookAdded = "webhook.added"
    case webhookRemoved = "webhook.removed"
    /// Events are sent again, or a receiver that was gone is told again.
    case webhookRestarted = "webhook.restarted"
    /// A webhook got a new secret.
    case webhookSecretMade = "webhook.secret_made"
    case keyAdded = "key.added"
    case keyUsed = "key.used"
    case keyRetired = "key.retired"
    case backedUp = "database.backed_up"
    case restored = "database.restored"
  }

  public var at: UnixTime
  /// The action: a ``Kind``, or an action of another version. Stable.
  public var action: String
  /// The actor, as in ``AuditActor/name``.
  public var actor: String
  public var account: AccountID?
  public var session: SessionID?
  /// The client's IP address, if there was a request; its ``network`` alone once ``RegistryLimits/addressRetention`` has passed.
  public var address: String?
  /// Further items, as a JSON object. It must contain no secret.
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

  public init(
    at: UnixTime, _ kind: Kind, by actor: AuditActor, account: AccountID? = nil, session: SessionID? = nil,
    details: String = "{}"
  ) {
    self.init(
      at: at, action: kind.rawValue, actor: actor.name, account: account, session: session, address: actor.address,
      details: details)
  }
}

extension AuditedAction {
  /// Whether the address is that of one client, and no network.
  var hasWholeAddress: Bool { address.map { !$0.contains("/") } ?? false }

  /// The network of the address: the first 24 bits of an IPv4 address, the first 48 of an IPv6 address. `nil` without an address,
  /// or with one that cannot be read.
  public var network: String? {
    guard let address, hasWholeAddress else { return address }
    let bytes = AddressBytes.parse(address) ?? []
    if bytes.count == 4 { return bytes.prefix(3).map { String($0) }.joined(separator: ".") + ".0/24" }
    guard bytes.count == 16 else { return nil }
    let groups = stride(from: 0, to: 6, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
    return groups.map { String($0, radix: 16) }.joined(separator: ":") + "::/48"
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
