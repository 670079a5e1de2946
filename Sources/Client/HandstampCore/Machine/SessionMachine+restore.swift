/// Handles the content of the vault, at launch and after every change.
extension SessionMachine {
  mutating func start() -> [Effect] {
    guard case .dormant = phase else { return [.ignored] }
    phase = .restoring
    return reload()
  }

  /// Reads the vault; once, however many callers ask.
  mutating func reload() -> [Effect] {
    if work.values.contains(.reload) {
      reloadsAgain = true
      return []
    }
    if case .dormant = phase { return [.ignored] }
    return [read(for: .reload)]
  }

  mutating func absorb(_ reading: VaultReading, at now: Moment) -> [Effect] {
    switch reading {
    case .value(let entry): return absorb(entry, at: now)
    case .absent: return absorb(VaultEntry(), at: now)
    case .accessOnly(let session): return absorb(accessOf: session, at: now)
    case .trouble(let trouble):
      switch phase {
      case .restoring, .unavailable:
        phase = .unavailable(.storage(trouble))
        return publish(.unavailable(.storage(trouble))) + resumeAll(.failure(.storage(trouble)))
          + [audit(.trouble, nil, "restore", at: now)] + proceed(at: now)
      case .live(let live):
        // The session stays as it is; a waiting caller belongs to a refresh, which reports its own error.
        return [audit(.trouble, live.stored, "read", at: now)]
      case .dormant, .signedOut, .ending: return [.ignored]
      }
    }
  }

  /// Takes over what the vault holds, by whichever process it was stored.
  ///
  /// - Parameter isOwn: whether this process has just written it.
  mutating func absorb(_ entry: VaultEntry, isOwn: Bool = false, at now: Moment) -> [Effect] {
    if wentBack(entry), let again = restoreEntry(over: entry, at: now) { return again }
    revision = entry.revision
    note(entry)
    if entry.session?.id != sessionNotToAdopt { sessionNotToAdopt = nil }
    let found = entry.session.flatMap {
      ended.contains($0.id) || unwrittenEnd != nil || sessionNotToAdopt == $0.id ? nil : $0
    }
    switch phase {
    case .dormant, .ending: return [.ignored]
    case .restoring, .signedOut, .unavailable:
      if let token = supersededToken, found?.refresh == token {
        phase = .unavailable(.storageOutdated)
        return publish(.unavailable(.storageOutdated)) + resumeAll(.failure(.storageOutdated))
          + sendRevocations(at: now)
          + proceed(at: now)
      }
      supersededToken = nil
      if let found { return enter(found, action: .restore, at: now) + sendRevocations(at: now) + proceed(at: now) }
      let wasOut = phase == .signedOut
      phase = .signedOut
      let reason = endReason(in: entry)
      return publish(.signedOut(reason)) + resumeAll(.failure(.signedOut(reason))) + clean(again: !wasOut)
        + sendRevocations(at: now) + proceed(at: now)
    case .live(var live):
      guard let found else {
        let reason = entry.tombstone(of: live.stored.id)?.reason ?? .erased
        return over(Ending(live, reason: reason, steps: steps(for: reason)), in: entry, at: now)
      }
      guard found.id == live.stored.id else {
        let effects = leave(live, telling: .signedOut(.replaced), for: found.id, at: now)
        return effects + enter(found, action: .adopt, at: now) + sendRevocations(at: now)
      }
      guard found != live.stored else { return serveWaiters(at: now) + sendRevocations(at: now) }
      let wasLocked = live.hasOnlyAccess
      let former = (
        access: live.access, refresh: live.unsaved?.successor ?? live.stored.refresh, end: live.upcomingEnd
      )
      live.take(over: found, at: now)
      phase = .live(live)
      let isAdoption =
        !isOwn && (live.access != former.access || (!wasLocked && live.stored.refresh != former.refresh))
      if wasLocked, let reason = overdue(live.stored, at: now) {
        return end(live, reason, at: now)
      }
      // The sender got its response, or withdrew the attempt.
      let isAwaitedNoMore =
        live.refresh?.state == .pausing && live.refresh?.awaited.map { !$0.isSame(as: found.attempt) } ?? false
      return publish(live.state) + (isAdoption ? [.adopted(live.stored.id)] : [])
        + (wasLocked || live.upcomingEnd != former.end ? scheduleLimit(at: now) : []) + scheduleRefresh(at: now)
        + serveWaiters(at: now) + (isAwaitedNoMore ? [startTimer(.retry, after: .zero)] : []) + sendRevocations(at: now)
    }
  }

  /// Only the access item could be read.
  private mutating func absorb(accessOf stored: StoredSession, at now: Moment) -> [Effect] {
    // It may be the old copy: that cannot be seen before its refresh item is readable.
    let isDoubtful = ended.contains(stored.id) || unwrittenEnd != nil || supersededToken != nil
    switch phase {
    case .dormant, .ending, .live: return [.ignored]
    case .signedOut where isDoubtful: return [.ignored]
    case .restoring where isDoubtful, .unavailable where isDoubtful:
      let error: SessionError = supersededToken == nil ? .storage(.locked) : .storageOutdated
      phase = .unavailable(error)
      return publish(.unavailable(error)) + resumeAll(.failure(error)) + proceed(at: now)
    case .restoring, .signedOut, .unavailable:
      let session = StoredSession(
        id: stored.id, profile: stored.profile, refresh: nil, revocation: nil, access: stored.access, startedAt: now,
        activeAt: now, issuer: stored.issuer)
      return enter(session, hasOnlyAccess: true, action: .restore, at: now) + proceed(at: now)
    }
  }

  /// Takes over pending revocations and clean-up steps, whichever program left them.
  mutating func note(_ entry: VaultEntry) {
    for tombstone in entry.tombstones { revocations.note(tombstone) }
    // The signed-in user keeps their data.
    let person = entry.session.flatMap { ended.contains($0.id) ? nil : $0.profile?.id }
    for tombstone in entry.tombstones where person == nil || tombstone.account != person {
      cleanups.add(
        tombstone.steps,
        for: EndedSession(id: tombstone.session, account: tombstone.account, reason: tombstone.reason))
    }
  }

  var lastEndReason: EndReason? {
    if case .signedOut(let reason) = published { reason } else { nil }
  }

  /// Why the last session ended. An end that this process has shown keeps its reason, also until it can be written.
  func endReason(in entry: VaultEntry) -> EndReason? {
    guard unwrittenEnd == nil, let last = entry.tombstones.last else { return lastEndReason }
    return ended.contains(last.session) ? lastEndReason ?? last.reason : last.reason
  }

  /// A session is in use from now on: state, audit entry, timers, in this order; then waiting callers.
  mutating func enter(
    _ session: StoredSession, hasOnlyAccess: Bool = false, action: AuditEntry.Action, at now: Moment
  ) -> [Effect] {
    if let reason = overdue(session, at: now) {
      let live = Live(stored: session)
      phase = .live(live)
      return end(live, reason, at: now)
    }
    epoch += 1
    // It is in use, whatever revocation was pending: an older vault had been restored, and was replaced again.
    revocations.remove(session.id)
    // The same user is back, whichever program they signed in with: their data stays.
    if let account = session.person { cleanups.keepData(of: account) }
    var live = Live(stored: session, hasOnlyAccess: hasOnlyAccess)
    live.mintedAt = session.access?.lifetime?.start
    live.upcomingEnd = upcomingEnd(of: session, at: now)
    phase = .live(live)
    return publish(live.state) + [audit(action, session, "ok", at: now)] + scheduleLimit(at: now)
      + scheduleRefresh(at: now) + serveWaiters(at: now)
  }

  /// Another session takes its place: one that another process or an own sign-in has stored, together with the end of this one.
  mutating func leave(
    _ live: Live, telling error: SessionError, for successor: SessionID, at now: Moment
  ) -> [Effect] {
    dropRefresh()
    stopSessionTimers()
    // A session that was signed in to again has not ended; only its work in progress has.
    guard live.stored.id != successor else { return live.lock.map { [.unlock($0)] } ?? [] }
    remember(live.stored.id)
    phase = .signedOut
    var effects = [audit(.end, live.stored, EndReason.replaced.rawValue, at: now)]
    effects += resumeAll(.failure(error)) + [.cancelRequests]
    if let lock = live.lock { effects.append(.unlock(lock)) }
    return effects
  }

  /// A sign-in overtook the end of the previous session.
  mutating func leave(_ ending: Ending, for successor: SessionID, at now: Moment) -> [Effect] {
    work = work.filter { $0.value != .end }
    timers[.end] = nil
    if let former = ending.session, former != successor { remember(former) }
    phase = .signedOut
    var effects = [ended(ending, ending.reason.rawValue, at: now)]
    effects += resumeAll(.failure(.signedOut(ending.reason))) + [.cancelRequests]
    if let lock = ending.lock { effects.append(.unlock(lock)) }
    return effects + ending.commands.map { .finish($0, .success(.signedOut(ending.session))) }
  }

  mutating func remember(_ session: SessionID) {
    ended.removeAll { $0 == session }
    ended.append(session)
    ended.removeFirst(max(0, ended.count - 16))
  }
}

extension SessionMachine.Live {
  var state: SessionState {
    let profile = unsaved?.response.profile ?? stored.profile
    var facts = SignedIn(id: stored.id, profile: profile, startedAt: stored.startedAt.wall)
    facts.upcomingEnd = upcomingEnd
    return .signedIn(facts)
  }
}
