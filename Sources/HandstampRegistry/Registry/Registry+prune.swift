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

  /// Notes what the server's clock shows; to be called now and then.
  public func note(_ clock: ClockNote) async throws(RegistryError) {
    try await reading { () throws(RegistryStoreError) in _ = try await store.write([.noteClock(clock)], events: []) }
  }

  /// Corrects what was written down by a time that turned out to be `distance` behind: no session that was used in `span` ends
  /// because of it.
  public func moveTimes(_ span: ClosedRange<UnixTime>, by distance: Duration) async throws(RegistryError) {
    try await reading { () throws(RegistryStoreError) in
      _ = try await store.write([.moveTimes(span, by: distance)], events: [])
    }
  }
}
