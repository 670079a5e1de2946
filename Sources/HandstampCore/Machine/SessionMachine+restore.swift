/// What the vault says, at launch and whenever somebody wrote to it.
extension SessionMachine {
  /// Reads the vault; once, however many ask.
  mutating func look() -> [Effect] {
    if work.values.contains(.look) {
      looksAgain = true
      return []
    }
    if case .dormant = phase { return [.ignored] }
    return [.read(begin(.look))]
  }

  mutating func answered(_ operation: Operation, _ reading: VaultReading, at now: Moment) -> [Effect] {
    guard let purpose = work.removeValue(forKey: operation) else { return [.ignored] }
    switch purpose {
    case .look:
      var effects = absorb(reading, at: now)
      if looksAgain {
        looksAgain = false
        effects += look()
      }
      return effects
    case .rollbackCheck(let sent): return rollbackChecked(sent, reading, at: now)
    case .idleCheck: return idleChecked(reading, at: now)
    case .lockCheck(let trouble): return lockChecked(trouble, reading, at: now)
    case .begin, .lock, .prepare, .noteReading, .withdraw, .ask, .lateAnswer, .advance, .save, .renew, .reject,
      .putBack, .end, .endAgain, .delivered, .tell, .postpone, .cleaned, .touch:
      return [.ignored]
    }
  }

  mutating func absorb(_ reading: VaultReading, at now: Moment) -> [Effect] {
    switch reading {
    case .value(let entry): return absorb(entry, at: now)
    case .absent: return absorb(VaultEntry(), at: now)
    case .accessOnly(let id, let profile, let access): return absorb(id, profile, access, at: now)
    case .trouble(let trouble):
      switch phase {
      case .restoring, .unavailable:
        phase = .unavailable(.storage(trouble))
        return publish(.unavailable(.storage(trouble))) + resumeAll(.failure(.storage(trouble)))
          + [audit(.trouble, nil, "restore", at: now)] + proceed(at: now)
      case .live(let live):
        // The session stays as it is; a caller who is waiting is in a flight, which has its own verdict.
        return [audit(.trouble, live.stored, "read", at: now)]
      case .dormant, .signedOut, .ending: return [.ignored]
      }
    }
  }

  /// Makes what is stored the truth here: the one way in which other processes' work is adopted.
  mutating func absorb(_ entry: VaultEntry, at now: Moment) -> [Effect] {
    if wentBack(entry), let again = putBack(over: entry, at: now) { return again }
    revision = entry.revision
    note(entry)
    if entry.session?.id != passedOver { passedOver = nil }
    let found = entry.session.flatMap {
      ended.contains($0.id) || buryLater != nil || passedOver == $0.id ? nil : $0
    }
    switch phase {
    case .dormant, .ending: return [.ignored]
    case .restoring, .signedOut, .unavailable:
      if let token = leftBehind, found?.refresh == token {
        phase = .unavailable(.rolledBack)
        return publish(.unavailable(.rolledBack)) + resumeAll(.failure(.rolledBack)) + deliver(at: now)
          + proceed(at: now)
      }
      leftBehind = nil
      if let found { return enter(found, action: .restore, at: now) + deliver(at: now) + proceed(at: now) }
      let wasOut = phase == .signedOut
      phase = .signedOut
      let reason = entry.tombstones.last?.reason ?? lastEndReason
      return publish(.signedOut(reason)) + resumeAll(.failure(.signedOut(reason))) + clean(again: !wasOut)
        + deliver(at: now) + proceed(at: now)
    case .live(var live):
      guard let found else {
        let reason = entry.tombstone(of: live.stored.id)?.reason ?? .erased
        return over(Ending(live, reason: reason, steps: steps(for: reason)), at: now)
      }
      guard found.id == live.stored.id else {
        let effects = leave(live, telling: .signedOut(.replaced), for: found.id)
        return effects + enter(found, action: .adopt, at: now) + deliver(at: now)
      }
      guard found != live.stored else { return settle(at: now) + deliver(at: now) }
      if let unsaved = live.unsaved, found.refresh != unsaved.sent { live.unsaved = nil }
      if found.access != live.stored.access { live.mintedAt = found.access?.lifetime?.start ?? now }
      let wasLocked = live.isRefreshLocked
      live.adopt(found, in: now.boot)
      live.isRefreshLocked = false
      // The locked vault did not tell when the session began and was used last: its limits hold from here on.
      if wasLocked, live.touchedAt == nil { live.stored.activeAt = found.activeAt }
      phase = .live(live)
      let awaited = live.flight?.awaited
      if wasLocked, let reason = overdue(live.stored, at: now) {
        return end(live, reason, at: now)
      }
      // Its sender was answered, or took it back.
      let isAwaitedNoMore =
        live.flight?.step == .pausing && awaited != nil && awaited?.isSame(as: found.attempt) != true
      return publish(live.state) + (wasLocked ? scheduleLimit(at: now) : []) + scheduleRefresh(at: now)
        + settle(at: now) + (isAwaitedNoMore ? [startTimer(.retry, after: .zero)] : []) + deliver(at: now)
    }
  }

  /// Whether an older vault was put back. It has a lower revision; or the same one, after an edit, and another refresh token.
  private func wentBack(_ entry: VaultEntry) -> Bool {
    guard entry.revision == revision, revision > 0, case .live(let live) = phase, let session = entry.session else {
      return entry.revision < revision
    }
    return session.id == live.stored.id && session.refresh != live.stored.refresh && !live.isRefreshLocked
  }

  /// An older vault was put back under this program, with the session that it holds in a newer state, or that it knows to be
  /// over: what is newer is written again. `nil` for anything else.
  private mutating func putBack(over entry: VaultEntry, at now: Moment) -> [Effect]? {
    guard let older = entry.session else { return nil }
    // It is on its way.
    if work.values.contains(.putBack) { return [] }
    if case .live(let live) = phase, live.stored.id == older.id, live.stored.isRemembered, !live.isRefreshLocked {
      let trouble = audit(.trouble, live.stored, "went_back", at: now)
      return [trouble, edit(.putBack(live.stored, revision: revision), for: .putBack)]
    }
    guard phase == .signedOut, ended.contains(older.id), buryLater == nil else { return nil }
    let reason = lastEndReason ?? .signedOut
    return [
      audit(.trouble, older, "went_back", at: now),
      edit(.end(older.id, holding: nil, reason: reason, at: now, steps: []), for: .putBack),
    ]
  }

  mutating func wasPutBack(_ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    switch outcome {
    case .done(let entry), .conflict(let entry):
      revision = min(revision, entry.revision)
      return absorb(entry, at: now)
    case .failed: return [startTimer(.save, after: .seconds(5))]
    }
  }

  /// An edit that was applied to an older vault than the one this program knows.
  mutating func noteRevision(of outcome: VaultOutcome) -> [Effect] {
    guard case .done(let entry) = outcome else { return [] }
    if wentBack(entry) { return entry.session != nil && isRemembered ? look() : [] }
    // What was not adopted is not known: the revision stands for the refresh token that is in use here.
    if case .live(let live) = phase, entry.session?.refresh != live.stored.refresh { return [] }
    revision = max(revision, entry.revision)
    return []
  }

  /// Only the access item can be read.
  private mutating func absorb(
    _ id: SessionID, _ profile: Profile, _ access: StoredAccess, at now: Moment
  ) -> [Effect] {
    guard !ended.contains(id), buryLater == nil else { return [.ignored] }
    switch phase {
    case .dormant, .ending, .live: return [.ignored]
    case .restoring, .signedOut, .unavailable:
      let session = StoredSession(
        id: id, profile: profile, refresh: nil, revocation: nil, access: access, startedAt: now, activeAt: now)
      return enter(session, isRefreshLocked: true, action: .restore, at: now) + proceed(at: now)
    }
  }

  /// Whatever ended and is not delivered yet is ours to deliver, too.
  mutating func note(_ entry: VaultEntry) {
    for tombstone in entry.tombstones {
      guard let handle = tombstone.revocation.map({ newest($0, of: tombstone.session) }),
        !delivered.contains(Delivered(session: tombstone.session, handle: handle))
      else { continue }
      // The server is being told with an older one, which may end nothing.
      if let former = outbox[tombstone.session], former != handle, delivering.contains(tombstone.session) {
        redelivering.insert(tombstone.session)
      }
      if outbox[tombstone.session] != handle { delays[tombstone.session] = nil }
      outbox[tombstone.session] = handle
      if tombstone.delay?.attempts ?? 0 > delays[tombstone.session]?.attempts ?? 0 {
        delays[tombstone.session] = tombstone.delay
      }
    }
    // Whoever is signed in keeps what is theirs.
    let person = entry.session.flatMap { ended.contains($0.id) ? nil : $0.profile.id }
    for tombstone in entry.tombstones where person == nil || tombstone.account != person {
      add(
        tombstone.steps,
        for: EndedSession(session: tombstone.session, account: tombstone.account, reason: tombstone.reason))
    }
  }

  private var lastEndReason: EndReason? {
    if case .signedOut(let reason) = published { reason } else { nil }
  }

  /// A session is in use from now on: state, audit entry, timers, in this order; then those who wait.
  mutating func enter(
    _ session: StoredSession, isRefreshLocked: Bool = false, action: AuditEntry.Action, at now: Moment
  ) -> [Effect] {
    if let reason = overdue(session, at: now) {
      let live = Live(stored: session)
      phase = .live(live)
      return end(live, reason, at: now)
    }
    epoch += 1
    // It is in use, whatever the server was to be told before: the vault had gone back in time, and came back.
    outbox[session.id] = nil
    delays[session.id] = nil
    // The same person is back, whichever program they signed in with: what is theirs stays.
    chores = chores.filter { $0.value.ended.account != session.profile.id }
    var live = Live(stored: session, isRefreshLocked: isRefreshLocked)
    live.mintedAt = session.access?.lifetime?.start
    phase = .live(live)
    return publish(live.state) + [audit(action, session, "ok", at: now)] + scheduleLimit(at: now)
      + scheduleRefresh(at: now) + settle(at: now)
  }

  /// The former session is no longer the one in use; its end is somebody else's doing and stored already.
  mutating func leave(_ live: Live, telling error: SessionError, for successor: SessionID) -> [Effect] {
    dropFlightWork()
    timers[.limit] = nil
    timers[.save] = nil
    // A session that was signed in to again is not over; only what was under way for it is.
    guard live.stored.id != successor else { return live.lock.map { [.unlock($0)] } ?? [] }
    remember(live.stored.id)
    phase = .signedOut
    var effects = resumeAll(.failure(error)) + [.cancelRequests]
    if let lock = live.lock { effects.append(.unlock(lock)) }
    return effects
  }

  /// A sign-in overtook the end of the former session.
  mutating func leave(_ ending: Ending, for successor: SessionID) -> [Effect] {
    work = work.filter { $0.value != .end }
    timers[.end] = nil
    if let former = ending.session, former != successor { remember(former) }
    phase = .signedOut
    var effects = resumeAll(.failure(.signedOut(ending.reason))) + [.cancelRequests]
    if let lock = ending.lock { effects.append(.unlock(lock)) }
    return effects + ending.commands.map { .finish($0, .success(.signedOut)) }
  }

  mutating func remember(_ session: SessionID) {
    ended.removeAll { $0 == session }
    ended.append(session)
    ended.removeFirst(max(0, ended.count - 16))
  }
}

extension SessionMachine.Live {
  var state: SessionState {
    .signedIn(
      SignedIn(session: stored.id, profile: unsaved?.profile ?? stored.profile, startedAt: stored.startedAt.wall))
  }
}
