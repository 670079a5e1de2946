public import HandstampCore

extension Registry {
  /// Returns at most `limit` events after the one with that ID, in order; those of one account, or of all if `account` is
  /// `nil`.
  public func events(
    after id: EventID, of account: AccountID? = nil, limit: Int = 256
  ) async throws(RegistryError) -> [StoredEvent] {
    try await reading { () throws(RegistryStoreError) in
      try await store.events(after: id, account: account, limit: limit)
    }
  }

  /// Begins to listen for events of other servers, see ``RegistryStore/news()``.
  public func news() -> StoreNews? { store.news() }

  /// Returns the ID of the newest event, or ``EventID/zero`` if there has never been one.
  public func lastEventID() async throws(RegistryError) -> EventID {
    try await reading { () throws(RegistryStoreError) in try await store.lastEventID() }
  }
}
