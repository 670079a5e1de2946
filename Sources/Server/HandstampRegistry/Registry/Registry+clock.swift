import HandstampCore

extension Registry {
  /// The last clock reading that any server on this store recorded, or `nil` if there is none.
  public func clockNote() async throws(RegistryError) -> ClockNote? {
    try await read(try await store.clockNote())
  }

  /// Records the server's clock reading. Call it periodically.
  ///
  /// - Parameter shift: moves stored times in the same write.
  /// - Returns: `false` if another server has already written a note of that revision. Nothing was written then.
  public func note(_ note: ClockNote, moving shift: TimeShift? = nil) async throws(RegistryError) -> Bool {
    let moves = shift.map { [RegistryChange.moveTimes($0)] } ?? []
    return try await write([.noteClock(note)] + moves, [])
  }

  /// Moves stored times that were written by a wrong clock, so that no session ends because of that clock.
  public func moveTimes(_ shift: TimeShift) async throws(RegistryError) {
    try await write([.moveTimes(shift)])
  }
}
