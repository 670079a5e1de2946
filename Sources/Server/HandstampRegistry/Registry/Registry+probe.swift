public import HandstampCore

extension Registry {
  /// Reads and writes the store, to see whether it can be used: a full disk can still be read, and of a damaged database often
  /// all but a part.
  ///
  /// - Throws: ``RegistryError/unavailable(_:)``.
  public func checkUsable(now: UnixTime) async throws(RegistryError) {
    _ = try await lastEventID()
    let item = StoredItem(
      id: StoredItemID(.probe), kind: .probe, createdAt: now, expiresAt: now.advanced(by: .seconds(86_400)))
    try await write([.putItem(item)])
    if let damage = store.damage { throw .unavailable(damage) }
  }
}
