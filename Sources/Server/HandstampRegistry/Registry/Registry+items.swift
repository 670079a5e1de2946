import HandstampCore

extension Registry {
  func item(_ id: StoredItemID) async throws(RegistryError) -> StoredItem? {
    try await read(try await store.item(id))
  }

  /// Returns the items of a kind about one subject.
  func items(_ kind: StoredItem.Kind, of subject: String) async throws(RegistryError) -> [StoredItem] {
    try await read(try await store.items(kind, subject: subject))
  }

  /// Returns the items of a kind about one subject that have not expired.
  func liveItems(
    _ kind: StoredItem.Kind, of subject: String, now: UnixTime
  ) async throws(RegistryError) -> [StoredItem] {
    try await items(kind, of: subject).filter { $0.expiresAt > now }
  }

  /// Writes an item in the place of a stored one, or as the first.
  static func replacing(_ stored: StoredItem?, by next: StoredItem) -> RegistryChange {
    stored.map { .replaceItem(next, expecting: $0.revision) } ?? .createItem(next)
  }

  /// Returns an item that still holds at `now`.
  func liveItem(_ id: StoredItemID, now: UnixTime) async throws(RegistryError) -> StoredItem? {
    try await item(id).flatMap { $0.expiresAt > now ? $0 : nil }
  }

  /// Creates or replaces an item with what `change` makes of the stored one, which is `nil` if there is none or it has expired.
  /// If `change` returns `nil`, the item is deleted.
  ///
  /// - Parameter more: further changes of the same write, given the new item.
  /// - Returns: the item as `change` made it.
  @discardableResult
  func updateItem(
    _ id: StoredItemID, now: UnixTime, with more: (StoredItem) -> [RegistryChange] = { _ in [] },
    _ change: (StoredItem?) -> StoredItem?
  ) async throws(RegistryError) -> StoredItem? {
    for _ in 0..<Registry.attempts {
      let stored = try await item(id)
      let next = change(stored.flatMap { $0.expiresAt > now ? $0 : nil })
      var changes: [RegistryChange] = []
      switch (stored, next) {
      case (nil, nil): return nil
      case (nil, let next?): changes = [.createItem(next)]
      case (let stored?, let next?) where stored.expiresAt > now:
        changes = [.replaceItem(next, expecting: stored.revision)]
      case (let stored?, let next):
        // Not replaced: an item that has expired has another creation time.
        changes = [.removeItem(stored)] + (next.map { [.createItem($0)] } ?? [])
      }
      if try await write(changes + (next.map(more) ?? []), []) { return next }
    }
    throw Registry.contention
  }
}
