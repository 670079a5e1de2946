/// Dispatch of completed work, timers and changed conditions.
extension SessionMachine {
  mutating func readCompleted(_ operation: Operation, _ reading: VaultReading, at now: Moment) -> [Effect] {
    if let effects = refreshRead(operation, reading, at: now) { return effects }
    guard let purpose = work.removeValue(forKey: operation) else { return [.ignored] }
    switch purpose {
    case .reload:
      var effects = absorb(reading, at: now)
      if reloadsAgain {
        reloadsAgain = false
        effects += reload()
      }
      return effects
    case .idleCheck: return idleChecked(reading, at: now)
    case .begin, .lateAnswer, .save, .renew, .restoreEntry, .end, .retryEnd, .delivered, .updateRevocation, .postpone,
      .cleaned,
      .touch:
      return [.ignored]
    }
  }

  mutating func editCompleted(
    _ operation: Operation, _ outcome: VaultOutcome, asOf: Moment, at now: Moment
  ) -> [Effect] {
    if let effects = refreshEdited(operation, outcome, asOf: asOf, at: now) {
      return effects + noteRevision(of: outcome)
    }
    guard let purpose = work.removeValue(forKey: operation) else { return [.ignored] }
    if case .begin = purpose, case .done(let entry) = outcome { revision = entry.revision }
    if case .restoreEntry = purpose { return entryRestored(outcome, at: now) }
    return editCompleted(purpose, outcome, at: now) + noteRevision(of: outcome)
  }

  private mutating func editCompleted(
    _ purpose: Purpose, _ outcome: VaultOutcome, at now: Moment
  ) -> [Effect] {
    switch purpose {
    case .begin(let waiter, let session, let isWanted):
      return began(waiter, session, isWanted: isWanted, outcome, at: now)
    case .save(let unsaved): return savedAgain(unsaved, outcome, at: now)
    case .renew(let waiter, let session, let access): return renewed(waiter, session, access, outcome, at: now)
    case .end: return endAnswered(outcome, at: now)
    case .retryEnd: return tombstoneRetried(outcome, at: now)
    case .delivered:
      guard case .conflict(let entry) = outcome else { return [] }
      // It was revoked with a handle that the vault knows to be outdated.
      note(entry)
      return deliver(at: now)
    case .updateRevocation, .postpone, .cleaned, .touch: return []
    case .reload, .lateAnswer, .idleCheck, .restoreEntry: return [.ignored]
    }
  }

  mutating func fired(_ timer: Timer, at now: Moment) -> [Effect] {
    switch timer {
    case .refresh: return refreshAheadIfDue(at: now) + scheduleRefresh(at: now)
    case .retry: return retry(at: now)
    case .answer: return responseTimeoutPassed(at: now)
    case .save: return saveAgain()
    case .renew: return renewAgain()
    case .bury: return retryTombstone()
    case .reload: return reload()
    case .limit:
      guard case .live(let live) = phase else { return [.ignored] }
      switch overdue(live.stored, at: now) {
      case nil: return scheduleLimit(at: now)
      case .idle?: return [.read(begin(.idleCheck))]
      case let reason?: return end(live, reason, at: now)
      }
    case .clean: return clean(again: true)
    case .hold: return proceed(anyway: true, at: now)
    case .end:
      guard case .ending(let ending) = phase else { return [.ignored] }
      // Its edit is still in progress, and may yet succeed.
      return over(ending, storageError: .unavailable("the vault did not answer within 15 seconds"), at: now)
    case .deliver: return deliver(at: now)
    }
  }

  mutating func conditionsChanged(at now: Moment) -> [Effect] {
    revocations.resetFailures()
    var effects = clean(again: true) + deliver(at: now)
    switch phase {
    case .dormant, .signedOut, .ending: return effects
    case .restoring, .unavailable: return effects + reload()
    case .live(let live):
      self.live?.quietUntil = nil
      if live.refresh?.state == .pausing { effects.append(startTimer(.retry, after: .zero)) }
      if live.hasOnlyAccess { effects += reload() }
      return effects + refreshAheadIfDue(at: now)
    }
  }
}
