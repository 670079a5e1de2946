#if Exploration
extension SessionMachine {
  /// The states of `docs/session-machine.md`: the phases, and within a session in use those of its refresh.
  package enum StateName: String, Sendable, CaseIterable, Comparable {
    case dormant, restoring, signedOut, idle, locking, checkingHolder, preparing, notingReading, checkingSender,
      sending, saving,
      rejecting,
      checkingRollback, pausing, withdrawing, ending, unavailable

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }

  package var stateName: StateName {
    switch phase {
    case .dormant: .dormant
    case .restoring: .restoring
    case .signedOut: .signedOut
    case .ending: .ending
    case .unavailable: .unavailable
    case .live(let live):
      switch live.refresh?.state {
      case nil: .idle
      case .locking: .locking
      case .checkingHolder: .checkingHolder
      case .preparing: .preparing
      case .notingReading: .notingReading
      case .sending: .sending
      case .saving: .saving
      case .rejecting: .rejecting
      case .checkingRollback: .checkingRollback
      case .pausing: .pausing
      case .withdrawing: .withdrawing
      case .checkingSender: .checkingSender
      }
    }
  }
}
#endif
