public import HandstampCore

extension Registry {
  /// What the clock was last seen to show, by any server on this store.
  public func clockNote() async throws(RegistryError) -> ClockNote? {
    try await reading { () throws(RegistryStoreError) in try await store.clockNote() }
  }

  /// Notes what the server's clock shows; to be called now and then. Returns whether the note before it was still `former`: if
  /// not, nothing was written, and another server has noted something since.
  ///
  /// - Parameters:
  ///   - span: times in it, and how far, are moved in the same write: they were written down by a clock that was behind.
  public func note(
    _ note: ClockNote, after former: ClockNote?, moving span: ClosedRange<UnixTime>? = nil,
    by distance: Duration = .zero
  ) async throws(RegistryError) -> Bool {
    let moves = span.map { [RegistryChange.moveTimes($0, by: distance)] } ?? []
    do throws(RegistryStoreError) {
      _ = try await store.write([.noteClock(note, expecting: former?.revision)] + moves, events: [])
      return true
    } catch {
      guard error == .changed else { throw RegistryError(error) }
      return false
    }
  }

  /// Moves times that were written down by a clock that was `distance` behind: no session that was used in `span` ends because
  /// of it.
  public func moveTimes(_ span: ClosedRange<UnixTime>, by distance: Duration) async throws(RegistryError) {
    try await reading { () throws(RegistryStoreError) in
      _ = try await store.write([.moveTimes(span, by: distance)], events: [])
    }
  }
}
