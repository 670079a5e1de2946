public import HandstampCore
import HandstampSupport

/// A list of accounts in memory, for tests and previews. Share it to simulate several processes.
public final class MemoryAccountsStore: AccountsStore {
  private let list: Locked<AccountsList>
  private let listeners = Multicast<Void>(buffering: .bufferingNewest(1))

  public init(_ list: AccountsList = AccountsList()) { self.list = Locked(list) }

  @concurrent public func read() async -> Result<AccountsList, VaultError> { .success(list.withLock { $0 }) }

  @concurrent public func edit(_ edit: AccountsEdit) async -> Result<AccountsList, VaultError> {
    let (stored, wrote) = list.withLock { list in
      guard let new = list.applying(edit) else { return (list, false) }
      list = new
      return (new, true)
    }
    if wrote { listeners.publish(()) }
    return .success(stored)
  }

  public func changes() -> AsyncStream<Void> { listeners.subscribe() }

  @concurrent public func lockSignIn(within limit: Duration) async throws(VaultError) -> (any VaultLock)? { nil }
}
