public import HandstampCore

extension Registry {
  /// Deletes events and ended sessions that are older than ``RegistryLimits/retention``, audited actions that are older than
  /// ``RegistryLimits/auditRetention``, and expired one-time tokens; reduces the addresses of audited actions
  /// that are older than ``RegistryLimits/addressRetention``: at most `limit` of each. Call it periodically. Returns how many were deleted.
  ///
  /// Events are kept at least for as long as access tokens of sessions that they end may be valid.
  ///
  /// An ended session is kept until it would have expired, if that is later: until then, a client that presents an old token
  /// learns why the session ended. After that the token is still refused, but only with the reason `rejected`.
  public func prune(now: UnixTime, limit: Int = 500) async throws(RegistryError) -> Int {
    let before = now.advanced(by: .zero - limits.retention)
    // Verifiers of access tokens have to hear of every session whose tokens may be valid still.
    let heard = Registry.revocationHorizon(now: now, life: try await longestTokenLife(now: now))
    let retention = Retention(
      eventsBefore: min(before, heard), endedBefore: before,
      auditBefore: now.advanced(by: .zero - limits.auditRetention),
      addressesBefore: now.advanced(by: .zero - limits.addressRetention), now: now)
    return try await read(try await store.prune(retention, limit: limit))
  }
}
