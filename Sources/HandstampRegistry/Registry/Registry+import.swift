public import HandstampCore
import HandstampSupport

/// An account that comes from another system, with everything that is written along with it.
public struct ArrivingAccount: Sendable, Hashable {
  public var record: AccountRecord
  /// Whether the ID is that of the other system. Otherwise the address alone says whose account it is.
  public var keepsID: Bool
  /// Their account is that of ``record``.
  public var passkeys: [PasskeyRecord]
  public var groups: [String]

  public init(_ record: AccountRecord, keepsID: Bool, passkeys: [PasskeyRecord] = [], groups: [String] = []) {
    self.record = record
    self.keepsID = keepsID
    self.passkeys = passkeys
    self.groups = groups
  }
}

/// The result for one ``ArrivingAccount``.
public enum Arrival: Sendable, Hashable {
  case created
  /// The account was there, and got the facts that it lacked.
  case merged
  /// The account was there, and is as it was.
  case unchanged
  case refused(Refusal)

  /// The store is as it was.
  public enum Refusal: String, Sendable, Hashable, CaseIterable {
    /// Another account has the ID.
    case idTaken = "id_taken"
    /// Another account has the address.
    case addressTaken = "address_taken"
    /// Another account has the identity at a provider.
    case identityTaken = "identity_taken"
    /// Another account has one of the passkeys.
    case passkeyTaken = "passkey_taken"
    /// The account with the ID was deleted here.
    case accountDeleted = "account_deleted"
  }
}

extension Registry {
  /// Returns the record of a new account for `receive(_:merging:now:)`, with an ID that is drawn here.
  public func arriving(email: EmailAddress?, username: String, at now: UnixTime) -> AccountRecord {
    newAccount(email: email, username: username, passwordHash: nil, now: now)
  }

  /// Stores accounts from another system: all in one write if none of them is here yet, else each in a write of its own. No account
  /// is ever stored in part, and none that is here loses anything.
  ///
  /// - Parameters:
  ///   - batch: at most some hundred, without two that have an ID, an address, an identity or a passkey in common.
  ///   - merging: whether an account that is here gets what it lacks: a password that its owner has not removed, a name, groups,
  ///     passkeys, an identity, and the confirmation of its address. An account with another ID only if both addresses are confirmed.
  ///   - isTrial: whether nothing is written.
  /// - Returns: the results in the order of the batch.
  public func receive(
    _ batch: [ArrivingAccount], merging: Bool, isTrial: Bool = false, now: UnixTime
  ) async throws(RegistryError) -> [Arrival] {
    if !isTrial {
      do throws(RegistryStoreError) {
        _ = try await store.write(batch.flatMap { creating($0, now: now) }, events: [])
        return batch.map { _ in .created }
      } catch {
        guard error == .alreadyExists else { throw RegistryError(error) }
      }
    }
    // Together, so that a store can make one transaction of their writes.
    let results = await withTaskGroup(of: (Int, Result<Arrival, RegistryError>).self) { group in
      for (index, account) in batch.enumerated() {
        group.addTask {
          do throws(RegistryError) {
            return (index, .success(try await receive(account, merging: merging, isTrial: isTrial, now: now)))
          } catch { return (index, .failure(error)) }
        }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    var arrivals: [Arrival] = []
    for index in batch.indices {
      guard let result = results[index] else { throw Registry.contention }
      arrivals.append(try result.get())
    }
    return arrivals
  }

  private func receive(
    _ account: ArrivingAccount, merging: Bool, isTrial: Bool, now: UnixTime
  ) async throws(RegistryError) -> Arrival {
    for _ in 0..<Registry.attempts {
      let (changes, arrival) = try await decision(about: account, merging: merging, now: now)
      if isTrial || changes.isEmpty { return arrival }
      do throws(RegistryStoreError) {
        _ = try await store.write(changes, events: [])
        return arrival
      } catch {
        // Something of it came in meanwhile: look again.
        if case .unavailable = error { throw RegistryError(error) }
      }
    }
    throw Registry.contention
  }

  private func decision(
    about account: ArrivingAccount, merging: Bool, now: UnixTime
  ) async throws(RegistryError) -> ([RegistryChange], Arrival) {
    let new = account.record
    if account.keepsID, let known = try await self.account(new.id) {
      guard known.state != .deleted else { return ([], .refused(.accountDeleted)) }
      let isSame = known.email.map { $0.normalized == new.email?.normalized } ?? (known.identity == new.identity)
      guard isSame else { return ([], .refused(.idTaken)) }
      return merging ? try await merge(account, into: known, now: now) : ([], .unchanged)
    }
    if let email = new.email, let known = try await self.account(email: email) {
      let isConfirmed = known.emailConfirmedAt != nil && new.emailConfirmedAt != nil
      if merging && isConfirmed { return try await merge(account, into: known, now: now) }
      return ([], account.keepsID ? .refused(.addressTaken) : .unchanged)
    }
    if let identity = new.identity, try await self.account(identity: identity) != nil {
      return ([], .refused(.identityTaken))
    }
    for passkey in account.passkeys where try await self.passkey(passkey.id) != nil {
      return ([], .refused(.passkeyTaken))
    }
    return (creating(account, now: now), .created)
  }

  /// The facts that the account lacks. It is never given back what its owner has removed or an administrator has closed.
  private func merge(
    _ account: ArrivingAccount, into known: AccountRecord, now: UnixTime
  ) async throws(RegistryError) -> ([RegistryChange], Arrival) {
    let new = account.record
    var (changed, more, added) = (known, [RegistryChange](), [String]())
    if known.closedAt == nil, known.passwordHash == nil, known.credentialsChangedAt == nil, new.passwordHash != nil {
      changed.passwordHash = new.passwordHash
      added.append("password")
    }
    if known.username.isEmpty, !new.username.isEmpty {
      changed.username = new.username
      added.append("name")
    }
    if known.emailConfirmedAt == nil, new.emailConfirmedAt != nil {
      changed.emailConfirmedAt = new.emailConfirmedAt
      added.append("confirmation")
    }
    // Facts that were never here, and none that the owner has removed.
    let mayGetWaysIn =
      if known.credentialsChangedAt == nil, new.identity != nil || !account.passkeys.isEmpty {
        try await !hasRemovedWaysIn(known.id)
      } else { false }
    if mayGetWaysIn, known.identity == nil, let identity = new.identity,
      try await self.account(identity: identity) == nil
    {
      changed.identity = identity
      more.append(.createItem(LinkedIdentity(identity, of: known.id, at: now).item))
      added.append("identity")
    }
    if mayGetWaysIn, !account.passkeys.isEmpty, try await passkeys(of: known.id).isEmpty {
      let former = more.count
      for passkey in account.passkeys where try await self.passkey(passkey.id) == nil {
        more.append(.createItem(passkey.moved(to: known.id).item))
      }
      if more.count > former { added.append("passkeys") }
    }
    // An account that was taken out of its last group has an item without names.
    if !account.groups.isEmpty, try await item(StoredItemID(.groups, known.id.rawValue)) == nil {
      more.append(Registry.groupsChange(account.groups, of: known.id, now: now))
      added.append("groups")
    }
    guard !added.isEmpty else { return ([], .unchanged) }
    let details = JSONText([("added", added.joined(separator: " "))]).text
    return (
      [.replaceAccount(changed, expecting: known.revision)] + more
        + [audited(.accountsImported, account: known.id, details: details, at: now)],
      .merged
    )
  }

  /// Whether a passkey or an identity of an account was removed, as far back as the audit log has it.
  private func hasRemovedWaysIn(_ account: AccountID) async throws(RegistryError) -> Bool {
    let removals = [AuditedAction.Kind.passkeyRemoved, .identityUnlinked].map(\.rawValue)
    var last: Int64?
    while true {
      let actions = try await latestAuditedActions(about: account, before: last, limit: 500)
      if actions.contains(where: { removals.contains($0.audited.action) }) { return true }
      guard actions.count == 500, let next = actions.last?.id else { return false }
      last = next
    }
  }

  private func creating(_ account: ArrivingAccount, now: UnixTime) -> [RegistryChange] {
    let id = account.record.id
    // The item keeps the identity from belonging to two accounts: others have it as an item alone.
    let link = account.record.identity.map { LinkedIdentity($0, of: id, at: account.record.createdAt) }
    return [.createAccount(account.record)] + (link.map { [.createItem($0.item)] } ?? [])
      + account.passkeys.map { .createItem($0.item) }
      + (account.groups.isEmpty ? [] : [Registry.groupsChange(account.groups, of: id, now: now)])
  }
}
