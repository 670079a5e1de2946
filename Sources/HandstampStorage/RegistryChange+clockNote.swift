package import HandstampRegistry

extension RegistryChange {
  /// The clock note that this change stores; `nil` for any other change.
  package var clockNote: ClockNote? {
    guard case .noteClock(var note, let expecting) = self else { return nil }
    note.revision = expecting.map { $0 &+ 1 } ?? 0
    return note
  }
}
