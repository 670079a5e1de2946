public import HandstampCore

extension Registry {
  /// Forgets events and ended sessions that are older than ``RegistryLimits/retention``, and tickets that are over, at most
  /// `limit` of each; to be called now and then. Returns how many went.
  ///
  /// An ended session stays until it would be over by itself, if that is later: whoever brings an old token of it until then
  /// is told how it ended. Afterwards the token is refused all the same, with no better reason than `rejected`.
  public func prune(now: UnixTime, limit: Int = 500) async throws(RegistryError) -> Int {
    let before = now.advanced(by: .zero - limits.retention)
    return try await reading { () throws(RegistryStoreError) in
      try await store.prune(Retention(eventsBefore: before, endedBefore: before, now: now), limit: limit)
    }
  }
}
