extension AccountsList {
  /// Returns the list after `edit`; `nil` if the edit changes nothing.
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
    case .prepareSignIn(let signIn, let used): new.signIn = signIn.joined(to: self.signIn, insteadOf: used)
    case .forgetSignIn(let key): if new.signIn?.key == key { new.signIn = nil }
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

  /// A tag belongs to one account: the newest claim wins.
  private mutating func claim(_ tag: String?, for id: AccountID) {
    guard let tag else { return }
    for place in accounts.indices where accounts[place].id != id && accounts[place].tag == tag {
      accounts[place].tag = nil
    }
  }
}

/// A change of the list, as a value: every store applies the same rules, inside its own lock.
public enum AccountsEdit: Sendable, Hashable {
  /// The write-ahead of a sign-in whose account is unknown until the exchange: stores its key, unless one for the same purpose is
  /// stored that is not `insteadOf`.
  case prepareSignIn(PendingSignIn, insteadOf: RotationKey? = nil)
  /// The session of this key is stored, or the server has refused the request.
  case forgetSignIn(RotationKey)
  /// Adds an account, or updates its entry. It becomes the active one if none is.
  case add(ListedAccount)
  /// Removes an account; if it was the active one, none is active. With `isLeaving` work is pending for it, until ``left(_:)``.
  case remove(AccountID, isLeaving: Bool = false)
  /// No work is pending any more for a removed account.
  case left(AccountID)
  /// Makes an account the active one, if it is in the list; `nil` for none.
  case activate(AccountID?)
  /// Sets or removes an account's tag.
  case tag(AccountID, String?)
}

/// Stores the list of accounts, shared by several processes.
public protocol AccountsStore: Sendable {
  /// Returns the stored list.
  @concurrent func read() async -> Result<AccountsList, VaultError>

  /// Applies `edit` to the stored list, in one atomic and durable step, and returns the new list.
  @concurrent func edit(_ edit: AccountsEdit) async -> Result<AccountsList, VaultError>

  /// Yields after another process may have changed the list; may yield too often.
  func changes() -> AsyncStream<Void>

  /// Like ``Vault/lock(_:within:)``, for a sign-in whose account is unknown until the exchange; `nil` if the list has no
  /// such lock.
  @concurrent func lockSignIn(within limit: Duration) async throws(VaultError) -> (any VaultLock)?
}
