import Foundation
public import HandstampCore
public import HandstampData

/// The store of whoever is signed in.
// Unchecked: all access is under the lock.
public final class OpenStore: @unchecked Sendable {
  private let place: @Sendable (AccountID) throws -> StorePlace
  private let clock: any SessionClock
  private let lock = NSLock()
  private var account: AccountID?
  private var store: ForumStore?

  /// - Parameter place: where each account's store is.
  public init(clock: any SessionClock = WallClock(), _ place: @escaping @Sendable (AccountID) throws -> StorePlace) {
    self.clock = clock
    self.place = place
  }

  public func store(of account: AccountID) throws -> ForumStore {
    lock.lock()
    defer { lock.unlock() }
    if let store, self.account == account { return store }
    let opened = try ForumStore(place(account), clock: clock)
    (self.account, store) = (account, opened)
    return opened
  }

  /// Erases what is kept of that account, open or not.
  public func remove(of ended: AccountID?) throws {
    lock.lock()
    defer { lock.unlock() }
    guard let ended else { return }
    if account == ended, let open = store {
      try open.store.remove()
      (account, store) = (nil, nil)
    } else {
      try place(ended).remove()
    }
  }
}
