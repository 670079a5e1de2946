/// Sign-out, and the other ends of a session: the fence, the tombstone, and what follows it.
extension SessionMachine {
  mutating func signOut(
    _ waiter: Waiter, _ reason: EndReason, _ plan: SignOutPlan, at now: Moment
  ) -> [Effect] {
    let steps = cleanups.names(of: plan)
    var effects = dropHeld(at: now)
    cleanups.forgetWhatIsDone()
    if let attempt = signingIn {
      signingIn = nil
      effects.append(.finish(attempt, .failure(.cancelled)))
    }
    for (operation, purpose) in work.sorted(by: { $0.key < $1.key }) {
      guard case .begin(let attempt, let session, let method, isWanted: true) = purpose else { continue }
      work[operation] = .begin(attempt, session, by: method, isWanted: false)
      effects.append(.finish(attempt, .failure(.cancelled)))
    }
    switch phase {
    case .ending(var ending):
      // A separate edit: the one in progress may fail its condition, or a sign-in may be queued behind it.
      ending.commands.append(waiter)
      ending.steps += steps.filter { !ending.steps.contains($0) }
      phase = .ending(ending)
      return effects + [edit(.signOut(reason, at: now, steps: steps), for: .end)]
    case .live(let live):
      var ending = Ending(live, reason: reason, steps: steps)
      ending.commands = [waiter]
      if live.hasOnlyAccess { ending.at = now }
      return effects + end(ending, .signOut(reason, at: now, steps: steps))
    case .dormant, .restoring, .signedOut, .unavailable:
      // A session whose end could not be written yet ends for its own reason.
      let reason = unwrittenEnd == nil ? reason : lastEndReason ?? reason
      var ending = Ending(reason: reason, steps: steps, commands: [waiter])
      ending.at = now
      return effects + end(ending, .signOut(reason, at: now, steps: steps))
    }
  }

  mutating func endedByServer(_ session: SessionID, _ reason: EndReason, at now: Moment) -> [Effect] {
    guard case .live(let live) = phase, live.stored.id == session else { return [.ignored] }
    return end(live, reason, at: now)
  }

  /// Ends the session in use for a reason without an explicit plan.
  mutating func end(_ live: Live, _ reason: EndReason, at now: Moment) -> [Effect] {
    let steps = steps(for: reason)
    return end(
      Ending(live, reason: reason, steps: steps),
      .end(live.stored.id, holding: nil, reason: reason, at: now, steps: steps))
  }

  /// Longer than a vault waits for other writers, whose own error is more specific.
  private static let endPatience: Duration = .seconds(15)

  /// Raises the fence and requests the tombstone. Nothing is published before it is written.
  mutating func end(_ ending: Ending, _ edit: VaultEdit) -> [Effect] {
    dropRefresh()
    stopSessionTimers()
    unrevoked = ending.revocation == nil && ending.at == nil ? ending.session : nil
    phase = .ending(ending)
    return [self.edit(edit, for: .end), startTimer(.end, after: SessionMachine.endPatience)]
  }

  /// The tombstone was written, or could not be.
  mutating func endCompleted(_ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    guard case .ending(var ending) = phase else { return [.ignored] }
    // A sign-out was added: its edit, which has no condition, decides the outcome.
    if work.values.contains(.end) { return [] }
    switch outcome {
    case .done(let entry):
      keepNewerHandle(of: ending, than: entry)
      // Before a restore, only the vault knows whether there was a session, and a handle for it.
      if let time = ending.at {
        let found = entry.tombstones.last.flatMap { $0.endedAt == time ? $0 : nil }
        unrevoked = found.flatMap { $0.revocation == nil ? $0.session : nil }
        ending.account = ending.account ?? found?.account
      }
      sessionNotToAdopt = entry.session?.id
      note(entry)
      return over(ending, in: entry, at: now)
    case .conflict(let entry):
      // Only an end by the server or by a limit has a condition: the vault holds another session by now, or none.
      phase = .signedOut
      let lock = ending.lock.map { [Effect.unlock($0)] } ?? []
      ending.lock = nil
      note(entry)
      guard let found = entry.session, found.id != ending.session, !ended.contains(found.id) else {
        return lock + over(ending, in: entry, at: now)
      }
      if let session = ending.session { remember(session) }
      timers[.end] = nil
      return lock + resumeAll(.failure(.signedOut(.replaced))) + [.cancelRequests]
        + enter(found, action: .adopt, at: now)
        + ending.commands.map { .finish($0, .success(.signedOut(ending.session))) } + proceed(at: now)
    case .failed(let trouble):
      return over(ending, storageError: trouble, at: now)
    }
  }

  /// The session has ended: reported in the order publish, audit, callers, requests, lock, commands, server.
  ///
  /// - Parameter entry: the vault's content, if it is known.
  mutating func over(
    _ ending: Ending, in entry: VaultEntry? = nil, storageError trouble: VaultError? = nil, at now: Moment
  ) -> [Effect] {
    let reason = shownReason(of: ending, in: entry)
    dropRefresh()
    stopSessionTimers()
    timers[.end] = nil
    epoch += 1
    phase = .signedOut
    if let session = ending.session { remember(session) }
    var effects = publish(.signedOut(reason))
    effects.append(ended(ending, trouble == nil ? ending.reason.rawValue : "not_durable", at: now))
    effects += resumeAll(.failure(ending.isRejection ? .sessionEnded(reason) : .signedOut(reason)))
    effects.append(.cancelRequests)
    if let lock = ending.lock { effects.append(.unlock(lock)) }
    if let session = ending.session {
      cleanups.add(ending.steps, for: EndedSession(id: session, account: ending.account, reason: ending.reason))
    }
    effects += cleanups.start(again: true)
    let outcome = CommandOutcome.signedOut(ending.session ?? entry?.tombstones.last?.session, storageError: trouble)
    effects += ending.commands.map { .finish($0, .success(outcome)) }
    if trouble == nil {
      unwrittenEnd = nil
    } else {
      if let session = ending.session, let handle = ending.revocation { revocations.add(session, handle) }
      // A command applies to the session at its time, not to one that may begin until it is written.
      let whatever = VaultEdit.signOut(ending.reason, at: now, steps: ending.steps, isLate: true)
      let own = ending.session.map {
        VaultEdit.end($0, holding: nil, reason: ending.reason, at: now, steps: ending.steps)
      }
      let tombstone = ending.session.map {
        Tombstone(
          session: $0, reason: ending.reason, endedAt: now, revocation: ending.revocation, account: ending.account,
          issuer: issuer, steps: ending.steps)
      }
      unwrittenEnd = UnwrittenEnd(
        session: ending.session, edit: ending.commands.isEmpty ? own ?? whatever : whatever, tombstone: tombstone)
      effects.append(startTimer(.bury, after: .seconds(1)))
    }
    return effects + sendRevocations(at: now) + proceed(at: now)
  }

  /// Why a user is signed out after an end. A session keeps the reason that the vault has, whichever process ended it first; a
  /// sign-out without a session leaves the reason of the last end.
  func shownReason(of ending: Ending, in entry: VaultEntry? = nil) -> EndReason {
    if let session = ending.session, entry?.tombstone(of: session) == nil { return ending.reason }
    return entry.flatMap { endReason(in: $0) } ?? lastEndReason ?? ending.reason
  }

  func ended(_ ending: Ending, _ outcome: String, at now: Moment) -> Effect {
    .audit(
      AuditEntry(action: .end, session: ending.session, account: ending.account, at: now.wall, outcome: outcome))
  }

  /// Whether a sign-in is being written. Queued behind it, a late end would bury the new session; the sign-in buries the previous
  /// one itself.
  private var isBeginning: Bool { work.values.contains { if case .begin = $0 { true } else { false } } }

  /// Ends the timers of the session in use, and of what could not be stored.
  mutating func stopSessionTimers() {
    for timer: Timer in [.limit, .save, .renew, .bury, .reload] { timers[timer] = nil }
  }

  mutating func retryTombstone() -> [Effect] {
    guard let later = unwrittenEnd else { return [] }
    return [isBeginning ? startTimer(.bury, after: .seconds(1)) : edit(later.edit, for: .retryEnd)]
  }

  /// A tombstone that could not be written is retried as long as the program runs.
  mutating func tombstoneRetried(_ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    switch outcome {
    case .done(let entry), .conflict(let entry):
      guard let later = unwrittenEnd else { return [] }
      if let tombstone = tombstone(of: later, missingIn: entry) {
        return [isBeginning ? startTimer(.bury, after: .seconds(1)) : edit(.bury(tombstone), for: .retryEnd)]
      }
      unwrittenEnd = nil
      // A session that began elsewhere meanwhile was not adopted.
      return absorb(entry, at: now)
    case .failed: return unwrittenEnd == nil ? [] : [startTimer(.bury, after: .seconds(5))]
    }
  }
}

extension SessionMachine {
  /// A vault that failed to write the end may have removed the session nevertheless: then nothing in it records the pending
  /// work.
  private func tombstone(of later: UnwrittenEnd, missingIn entry: VaultEntry) -> Tombstone? {
    guard var tombstone = later.tombstone, entry.session?.id != tombstone.session,
      entry.tombstone(of: tombstone.session) == nil
    else { return nil }
    tombstone.revocation = revocations.pending[tombstone.session]
    tombstone.steps = cleanups.pending[tombstone.session]?.names ?? []
    return tombstone.isFinished ? nil : tombstone
  }
}

extension SessionMachine.Ending {
  init(_ live: SessionMachine.Live, reason: EndReason, steps: [String]) {
    self.init(
      session: live.stored.id, revocation: live.stored.revocation, lock: live.lock, reason: reason,
      account: live.stored.profile?.id, steps: steps, commands: [])
  }

  /// The end of an unknown session.
  init(reason: EndReason, steps: [String], commands: [SessionMachine.Waiter]) {
    self.init(
      session: nil, revocation: nil, lock: nil, reason: reason, account: nil, steps: steps, commands: commands)
  }
}
