import Foundation
package import HandstampCore
import HandstampSupport

/// A removal or change by an owner or an administrator, after which the previous state must not come back.
///
/// It is stored twice, in the same words: as an item in the write that takes it away, and in the log beside the database. A database
/// without the item is an older copy, in which it is taken away again. For each ``key``, the latest one counts.
package struct Removal: Sendable, Hashable {
  package enum Content: Sendable, Hashable {
    /// The state of an account.
    case account(AccountState)
    /// One passkey, consent or webhook is gone.
    case item(StoredItemID)
    /// The later payload of one item: a token of a former system that has begun its session.
    case payload(StoredItemID, String)
    /// All of a kind are gone.
    case items(StoredItem.Kind)
    /// The rest of an account's only item of a kind: the hashes of recovery codes, or groups.
    case rest(StoredItem.Kind, String)
  }

  /// How long removals are kept. They do not come back from a backup that is younger.
  package static let memory = Duration.seconds(400 * 86_400)
  /// The last part of it, during which the log no longer counts: the items go at their own time.
  private static let overlap = Duration.seconds(10 * 86_400)

  package let account: AccountID
  package let at: UnixTime
  package let content: Content

  package init(account: AccountID, at: UnixTime, content: Content) {
    self.account = account
    self.at = at
    self.content = content
  }

  /// The same for all removals of one thing.
  package var key: StoredItemID {
    switch content {
    case .account: StoredItemID(.removal, "account", account.rawValue)
    case .item(let id), .payload(let id, _): StoredItemID(.removal, "item", Base64URL.encode(id.bytes))
    case .items(let kind), .rest(let kind, _): StoredItemID(.removal, "items", kind.rawValue, account.rawValue)
    }
  }

  package var item: StoredItem {
    StoredItem(
      id: key, kind: .removal, subject: account.rawValue, payload: PayloadCoding.text(self), createdAt: at,
      expiresAt: at.advanced(by: Removal.memory))
  }

  /// Whether a database without it is an older copy.
  package func counts(at now: UnixTime) -> Bool { now.since(at) < Removal.memory - Removal.overlap }

  /// Whether it leaves nothing of an account, so that previous entries must not be kept.
  package var erases: Bool { if case .account(let state) = content { state.isErased } else { false } }
}

/// The state that an older copy of an account has to be brought to.
package struct AccountState: Sendable, Hashable {
  package var email: EmailAddress?
  package var emailConfirmedAt: UnixTime?
  package var hasPassword: Bool
  package var credentialsChangedAt: UnixTime?
  package var closedAt: UnixTime?
  /// The key of the user at another provider, see ``ExternalIdentity``.
  package var identity: String?

  package init(_ record: AccountRecord) {
    email = record.email
    emailConfirmedAt = record.emailConfirmedAt
    hasPassword = record.passwordHash != nil
    credentialsChangedAt = record.credentialsChangedAt
    closedAt = record.closedAt
    identity = record.identity?.key
  }

  var isErased: Bool { closedAt != nil && email == nil && identity == nil }
}

extension OneTimeTokenRecord.Purpose {
  /// Whether a restored database lacks those with this purpose: whether they were used since the backup is not known.
  package var isVoidAfterRestore: Bool {
    switch self {
    case .passwordReset, .signUp, .upgrade, .emailChange, .ownerProof, .authorizationCode, .deviceCode, .userCode,
      .pushedRequest:
      true
    // They say that something was used.
    case .nonce, .usedCode: false
    }
  }
}

extension StoredItem.Kind {
  /// The state in which a restored database has items that were changed or removed since the backup.
  package enum AfterRestore: Sendable {
    /// None that was removed: a way in, a receiver of events, or what spares a sign-in its notice.
    case staysAway
    /// The last state, of kinds whose one item has all of an account.
    case isAsLeft
    /// That it was used, because it begins one session.
    case staysUsed
    /// The state of the backup: counts, marks and waiting work, which is done again.
    case isOfTheBackup
    /// None at all: it describes the moment of the backup.
    case isVoid
  }

  /// Each kind says it, so that none can be forgotten.
  package var afterRestore: AfterRestore {
    switch self {
    case .passkey, .totp, .identity, .consent, .device, .client, .webhook, .machine, .registration: .staysAway
    case .recoveryCodes, .groups: .isAsLeft
    case .formerToken: .staysUsed
    case .emailChange, .nodeKeys: .isVoid
    case .guesses, .logout, .mail, .probe, .masterKey, .tokenLife, .auditCopy, .deadLetter, .formerEnd, .removal,
      .appleGrant, .upstreamSession, .upstreamEnd, .upstreamEvent:
      .isOfTheBackup
    }
  }
}

extension RegistryChange {
  /// The removal that the change is, which no restored backup may undo; `nil` for any other change.
  ///
  /// Not here: ends of sessions, which have entries of their own, and one-time tokens, of which none of a restored backup is valid.
  package func removal(at now: UnixTime) -> Removal? {
    switch self {
    case .replaceAccount(let record, _):
      Removal(account: record.id, at: now, content: .account(AccountState(record)))
    case .createItem(let item), .replaceItem(let item, _), .putItem(let item):
      switch item.kind.afterRestore {
      case .isAsLeft: Removal(item, at: now, content: .rest(item.kind, item.payload))
      // A withdrawn consent has expired, and so has a device that was thrown out.
      case .staysAway where item.expiresAt <= item.createdAt:
        Removal(item, at: now, content: .item(item.id))
      // An imported one; about any other one the former system decides.
      case .staysUsed where !item.subject.isEmpty && FormerToken.isUsed(item):
        Removal(item, at: now, content: .payload(item.id, item.payload))
      case .staysAway, .staysUsed, .isOfTheBackup, .isVoid: nil
      }
    case .removeItem(let item):
      switch item.kind.afterRestore {
      case .isAsLeft: Removal(item, at: now, content: .items(item.kind))
      case .staysAway: Removal(item, at: now, content: .item(item.id))
      case .staysUsed, .isOfTheBackup, .isVoid: nil
      }
    case .removeItems(let kind, let subject):
      switch kind.afterRestore {
      case .isAsLeft, .staysAway, .staysUsed: Removal(account: AccountID(subject), at: now, content: .items(kind))
      case .isOfTheBackup, .isVoid: nil
      }
    case .createSession, .replaceSession, .endSession, .createAccount, .expectAccount, .expectSession,
      .createOneTimeToken, .redeemOneTimeToken, .voidOneTimeTokens, .eraseDevices, .audit, .noteClock, .moveTimes:
      nil
    }
  }
}

extension Removal {
  fileprivate init(_ item: StoredItem, at: UnixTime, content: Content) {
    self.init(account: AccountID(item.subject), at: at, content: content)
  }

  /// The removals of a write.
  package static func all(in changes: [RegistryChange]) -> [Removal] {
    guard changes.contains(where: { $0.removal(at: UnixTime(milliseconds: 0)) != nil }) else { return [] }
    let now = UnixTime.systemTime
    // A new account loses nothing by what it begins with.
    let new = changes.reduce(into: Set<AccountID>()) {
      if case .createAccount(let record) = $1 { $0.insert(record.id) }
    }
    return changes.compactMap { $0.removal(at: now) }.filter { !new.contains($0.account) }
  }

  /// The removal with a later time than the stored one of the same key: a clock that was set back, or another node's, must not make
  /// an earlier state the later one.
  package func after(_ stored: StoredItem?) -> Removal {
    guard let previous = stored.flatMap({ PayloadCoding.value(Removal.self, $0.payload) }), previous.at >= at else {
      return self
    }
    return Removal(account: account, at: previous.at.advanced(by: .milliseconds(1)), content: content)
  }

  /// Sorts out, in order, the entries of a log that a database does not know.
  ///
  /// - Parameter stored: the removals of the database, by their keys.
  package static func missing(of log: [Removal], from stored: [StoredItemID: Removal], at now: UnixTime) -> [Removal] {
    log.latest.filter { entry in
      entry.counts(at: now) && stored[entry.key].map { $0.at < entry.at } ?? true
    }
  }
}

extension [Removal] {
  /// The last one of each key, in the order of time; of those of one instant, as they were.
  package var latest: [Removal] {
    var last: [StoredItemID: (place: Int, entry: Removal)] = [:]
    for (place, entry) in enumerated() where last[entry.key].map({ $0.entry.at <= entry.at }) ?? true {
      last[entry.key] = (place, entry)
    }
    return last.values.sorted { ($0.entry.at, $0.place) < ($1.entry.at, $1.place) }.map(\.entry)
  }
}

extension UnixTime {
  /// The time of this machine's clock.
  package static var systemTime: UnixTime {
    UnixTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
  }
}

extension Removal: StoredPayload {
  package var fields: [String: String?] {
    var fields: [String: String?] = ["account": account.rawValue, "at": String(at.milliseconds)]
    switch content {
    case .account(let state):
      fields["state"] = state.word
      fields["closed"] = state.closedAt.map { String($0.milliseconds) }
      fields["email"] = state.email?.normalized
      fields["typed"] = state.email?.typed
      fields["confirmed"] = state.emailConfirmedAt.map { String($0.milliseconds) }
      fields["password"] = state.hasPassword ? "1" : nil
      fields["changed"] = state.credentialsChangedAt.map { String($0.milliseconds) }
      fields["identity"] = state.identity
    case .item(let id): fields["item"] = Base64URL.encode(id.bytes)
    case .payload(let id, let payload): (fields["item"], fields["rest"]) = (Base64URL.encode(id.bytes), payload)
    case .items(let kind): fields["kind"] = kind.rawValue
    case .rest(let kind, let payload): (fields["kind"], fields["rest"]) = (kind.rawValue, payload)
    }
    return fields
  }

  package init?(fields: [String: String]) {
    guard let account = fields["account"], let at = fields.time("at") else { return nil }
    if fields["state"] != nil {
      guard let state = AccountState(fields: fields) else { return nil }
      content = .account(state)
    } else if let kind = fields["kind"].flatMap({ StoredItem.Kind(rawValue: $0) }) {
      content = fields["rest"].map { .rest(kind, $0) } ?? .items(kind)
    } else if let id = fields["item"].flatMap({ Base64URL.decode($0) }).flatMap({ StoredItemID($0) }) {
      content = fields["rest"].map { .payload(id, $0) } ?? .item(id)
    } else {
      return nil
    }
    self.account = AccountID(account)
    self.at = at
  }
}

extension AccountState {
  fileprivate var word: String { isErased ? "erased" : closedAt == nil ? "open" : "closed" }

  /// A cut line must not stand for an account without an address, which would be erased.
  fileprivate init?(fields: [String: String]) {
    guard (fields["email"] == nil) == (fields["typed"] == nil) else { return nil }
    email = fields["email"].flatMap { key in fields["typed"].map { EmailAddress(stored: $0, normalized: key) } }
    emailConfirmedAt = fields.time("confirmed")
    hasPassword = fields["password"] != nil
    credentialsChangedAt = fields.time("changed")
    closedAt = fields.time("closed")
    identity = fields["identity"]
    guard fields["state"] == word else { return nil }
  }
}
