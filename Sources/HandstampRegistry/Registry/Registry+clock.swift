public import HandstampCore

extension Registry {
  /// The last clock reading that any server on this store recorded, or `nil` if there is none.
  public func clockNote() async throws(RegistryError) -> ClockNote? {
    try await reading { () throws(RegistryStoreError) in try await store.clockNote() }
  }

  /// Records the server's clock reading. Call it periodically.
  ///
  /// - Parameters:
  ///   - span: stored times in this range were written by a clock that was behind; the same write moves them by `distance`.
  /// - Returns: `false` if the stored note was no longer `former`, because another server has written one since. Nothing was
  ///   written then.
  public func note(
    _ note: ClockNote, after former: ClockNote?, moving span: ClosedRange<UnixTime>? = nil,
    by distance: Duration = .zero
  ) async throws(RegistryError) -> Bool {
    let moves = span.map { [RegistryChange.moveTimes($0, by: distance)] } ?? []
    do throws(RegistryStoreError) {
      _ = try await store.write([.noteClock(note, expecting: former?.revision)] + moves, events: [])
      return true
    } catch {
      guard error == .conflict else { throw RegistryError(error) }
      return false
    }
  }

  /// Moves stored times in `span` that were written by a clock that was `distance` behind, so that no session ends because of
  /// that clock.
  public func moveTimes(_ span: ClosedRange<UnixTime>, by distance: Duration) async throws(RegistryError) {
    try await reading { () throws(RegistryStoreError) in
      _ = try await store.write([.moveTimes(span, by: distance)], events: [])
    }
  }
}
