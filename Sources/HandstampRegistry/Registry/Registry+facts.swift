import HandstampCore

extension Registry {
  func fact(_ id: FactID) async throws(RegistryError) -> RegistryFact? {
    try await reading { () throws(RegistryStoreError) in try await store.fact(id) }
  }

  /// Returns a fact that still holds at `now`.
  func liveFact(_ id: FactID, now: UnixTime) async throws(RegistryError) -> RegistryFact? {
    try await fact(id).flatMap { $0.expiresAt > now ? $0 : nil }
  }

  /// Creates or replaces a fact with what `change` makes of the stored one, which is `nil` if there is none or it has expired.
  /// If `change` returns `nil`, the fact is deleted.
  ///
  /// - Parameter more: further changes of the same write, given the new fact.
  /// - Returns: the fact as `change` made it.
  @discardableResult
  func updateFact(
    _ id: FactID, now: UnixTime, with more: (RegistryFact) -> [RegistryChange] = { _ in [] },
    _ change: (RegistryFact?) -> RegistryFact?
  ) async throws(RegistryError) -> RegistryFact? {
    for _ in 0..<Registry.attempts {
      let stored = try await fact(id)
      let next = change(stored.flatMap { $0.expiresAt > now ? $0 : nil })
      var changes: [RegistryChange] = []
      switch (stored, next) {
      case (nil, nil): return nil
      case (nil, let next?): changes = [.createFact(next)]
      case (let stored?, let next?) where stored.expiresAt > now:
        changes = [.replaceFact(next, expecting: stored.revision)]
      case (let stored?, let next):
        // Not replaced: a fact that has expired has another creation time.
        changes = [.removeFact(stored)] + (next.map { [.createFact($0)] } ?? [])
      }
      if try await write(changes + (next.map(more) ?? []), []) != nil { return next }
    }
    throw Registry.contention
  }
}
