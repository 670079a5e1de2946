import Foundation
public import Handstamp
public import HandstampData

/// The store of the signed-in account.
// Unchecked: all access is under the lock.
public final class OpenStore: @unchecked Sendable {
  private let place: @Sendable (AccountID) throws -> StorePlace
  private let open: @Sendable (StorePlace) throws -> ForumStore
  private let lock = NSLock()
  private var account: AccountID?
  private var store: ForumStore?

  /// - Parameters:
  ///   - open: Opens the store at a location.
  ///   - place: Returns the location of an account's store.
  public init(
    open: @escaping @Sendable (StorePlace) throws -> ForumStore = { try ForumStore($0) },
    _ place: @escaping @Sendable (AccountID) throws -> StorePlace
  ) {
    self.open = open
    self.place = place
  }

  public func store(of account: AccountID) throws -> ForumStore {
    lock.lock()
    defer { lock.unlock() }
    if let store, self.account == account { return store }
    let opened = try open(place(account))
    (self.account, store) = (account, opened)
    return opened
  }

  /// Erases an account's store, open or not.
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
