extension AccountsList {
  /// What `edit` makes of the list; nothing when it changes nothing.
  public func applying(_ edit: AccountsEdit) -> AccountsList? {
    var new = self
    switch edit {
    case .add(let record):
      if let place = new.accounts.firstIndex(where: { $0.id == record.id }) {
        new.accounts[place] = record
        new.accounts[place].addedAt = accounts[place].addedAt
        new.accounts[place].tag = record.tag ?? accounts[place].tag
        new.accounts[place].server = record.server ?? accounts[place].server
      } else {
        new.accounts.append(record)
      }
      new.claim(record.tag, for: record.id)
      new.active = new.active ?? record.id
      new.leaving.removeAll { $0 == record.id }
    case .remove(let id, let isLeaving):
      new.accounts.removeAll { $0.id == id }
      if new.active == id { new.active = nil }
      if isLeaving, !new.leaving.contains(id) { new.leaving.append(id) }
    case .left(let id): new.leaving.removeAll { $0 == id }
    case .activate(let id):
      guard let id else {
        new.active = nil
        break
      }
      if new.accounts.contains(where: { $0.id == id }) { new.active = id }
    case .tag(let id, let tag):
      guard let place = new.accounts.firstIndex(where: { $0.id == id }) else { return nil }
      new.accounts[place].tag = tag
      new.claim(tag, for: id)
    }
    return new == self ? nil : new
  }

  /// One tag names one account: the newest claim holds.
  private mutating func claim(_ tag: String?, for id: AccountID) {
    guard let tag else { return }
    for place in accounts.indices where accounts[place].id != id && accounts[place].tag == tag {
      accounts[place].tag = nil
    }
  }
}

/// A change of the list, as a value: every index applies the same rules, inside its own lock.
public enum AccountsEdit: Sendable, Hashable {
  /// Adds an account, or renews what is known of it. The first one becomes the active one.
  case add(ListedAccount)
  /// Removes it; if it was the active one, none is active. With `isLeaving` something is left to do, until ``left(_:)``.
  case remove(AccountID, isLeaving: Bool = false)
  /// Nothing is left to do for an account that was removed.
  case left(AccountID)
  /// Makes it the active one, if it is in the list; nothing for none.
  case activate(AccountID?)
  case tag(AccountID, String?)
}

/// Keeps the list of accounts, for several processes at once.
public protocol AccountsIndex: Sendable {
  @concurrent func read() async -> Result<AccountsList, VaultTrouble>

  /// Applies `edit` to what is stored, in one atomic and durable step, and returns what is stored then.
  @concurrent func edit(_ edit: AccountsEdit) async -> Result<AccountsList, VaultTrouble>

  /// Yields after another process may have changed the list; may yield too often.
  func changes() -> AsyncStream<Void>

  /// Like ``Vault/lockSignIn(within:)``, for a sign-in of which only the exchange tells whose account it is; `nil` where the list
  /// has no such lock.
  @concurrent func lockSignIn(within limit: Duration) async throws(VaultTrouble) -> (any FlightLock)?
}

extension AccountsIndex {
  @concurrent public func lockSignIn(within limit: Duration) async throws(VaultTrouble) -> (any FlightLock)? { nil }
}
