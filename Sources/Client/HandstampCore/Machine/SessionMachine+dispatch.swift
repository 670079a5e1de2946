/// Dispatch of completed work, timers and changed conditions.
extension SessionMachine {
  mutating func readCompleted(_ operation: Operation, _ reading: VaultReading, at now: Moment) -> [Effect] {
    switch live?.refresh?.state {
    case .checkingHolder(operation, let trouble): return holderChecked(operation, trouble, reading, at: now)
    case .checkingRollback(operation, let sent): return rollbackChecked(sent, reading, at: now)
    default: break
    }
    switch work.removeValue(forKey: operation) {
    case .reload:
      var effects = absorb(reading, at: now)
      if reloadsAgain {
        reloadsAgain = false
        effects += reload()
      }
      return effects
    case .idleCheck: return idleChecked(reading, at: now)
    case .begin, .lateAnswer, .save, .renew, .identify, .restoreEntry, .end, .retryEnd, .revoked, .updateRevocation,
      .postpone, .cleaned, .touch, nil:
      return [.ignored]
    }
  }

  mutating func editCompleted(
    _ operation: Operation, _ outcome: VaultOutcome, asOf: Moment, at now: Moment
  ) -> [Effect] {
    var effects: [Effect] = []
    switch live?.refresh?.state {
    case .preparing(operation): effects = prepared(outcome, asOf: asOf, at: now)
    case .notingReading(operation): effects = readingNoted(outcome, at: now)
    case .saving(operation, let unsaved): effects = advanced(unsaved, outcome, at: now)
    case .rejecting(operation, let reason): effects = rejected(reason, outcome, at: now)
    case .withdrawing(operation): effects = withdrawn(at: now)
    default:
      switch work.removeValue(forKey: operation) {
      case nil: return [.ignored]
      case .restoreEntry: return entryRestored(outcome, at: now)
      case .begin(let waiter, let session, let method, let isWanted):
        if case .done(let entry) = outcome { revision = entry.revision }
        effects = began(waiter, session, by: method, isWanted: isWanted, outcome, at: now)
      case .save(let unsaved): effects = savedAgain(unsaved, outcome, at: now)
      case .renew(let waiter, let session, let access): effects = renewed(waiter, session, access, outcome, at: now)
      case .identify(let waiter, let session): effects = identified(waiter, session, outcome, at: now)
      case .end: effects = endCompleted(outcome, at: now)
      case .retryEnd: effects = tombstoneRetried(outcome, at: now)
      case .revoked:
        guard case .conflict(let entry) = outcome else { break }
        // It was revoked with a handle that the vault knows to be outdated.
        note(entry)
        effects = sendRevocations(at: now)
      case .updateRevocation, .postpone, .cleaned, .touch: break
      case .reload, .lateAnswer, .idleCheck: effects = [.ignored]
      }
    }
    return effects + noteRevision(of: outcome)
  }

  mutating func fired(_ timer: Timer, ticket: UInt64, at now: Moment) -> [Effect] {
    guard timers[timer] == ticket else { return [.ignored] }
    timers[timer] = nil
    switch timer {
    case .refresh: return refreshAheadIfDue(at: now) + scheduleRefresh(at: now)
    case .retry: return retry(at: now)
    case .answer: return responseTimeoutPassed(at: now)
    case .save: return saveAgain()
    case .renew: return renewAgain()
    case .bury: return retryTombstone()
    case .reload: return reload()
    case .limit: return limitPassed(at: now)
    case .clean: return clean(again: true)
    case .hold: return proceed(anyway: true, at: now)
    case .end:
      guard case .ending(let ending) = phase else { return [.ignored] }
      // Its edit is still in progress, and may yet succeed.
      return over(ending, storageError: .unavailable("the vault did not answer within 15 seconds"), at: now)
    case .revoke: return sendRevocations(at: now)
    }
  }

  mutating func conditionsChanged(at now: Moment) -> [Effect] {
    revocations.resetFailures()
    var effects = clean(again: true) + sendRevocations(at: now)
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
