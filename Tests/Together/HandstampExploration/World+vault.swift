import Handstamp

/// The vault that all processes share, and the refresh lock.
extension World {
  mutating func workVault(_ index: Int) {
    guard !processes[index].queue.isEmpty else { return }
    swapVault(for: index)
    defer { swapVault(for: index) }
    switch processes[index].queue.removeFirst() {
    case .read(let operation):
      let reading = read(by: index)
      perform(.read(operation, reading), by: index)
      judgeRead(reading, by: index)
    case .edit(let operation, let edit):
      let outcome = write(edit, by: index)
      if case .failed = outcome, case .advance = edit, limits.faults.contains(.lockIsGivenBackUnsaved),
        holder?.process == index
      {
        holder = nil
      }
      perform(.edited(operation, outcome, asOf: now), by: index)
    case .check(let operation, let attempt):
      perform(.senderChecked(operation, hasEnded: hasEnded(attempt, seenBy: index)), by: index)
    }
  }

  /// Switches to the second process's own vault, if there is one.
  private mutating func swapVault(for index: Int) {
    guard index == 1, let other = copy else { return }
    (vault, copy) = (other, vault)
  }

  private func read(by index: Int) -> VaultReading {
    if limits.faults.contains(.staleReads), let session = processes[index].machine.session {
      // Repeats the known entry.
      var entry = vault
      if entry.session?.id != session, let server = sessions.first(where: { $0.session == session }) {
        let grant = server.firstGrant(life: life?.tokenLife, at: serverTime)
        entry = VaultEntry(
          session: StoredSession(
            id: session, profile: server.profile, refresh: grant.tokens.refresh, revocation: grant.revocation,
            access: StoredAccess(grant.tokens.credential), startedAt: now, activeAt: now))
        return .value(entry)
      }
    }
    switch vaultState {
    case .works, .full, .crammed, .unconfirmed: return vault.isEmpty ? .absent : .value(shown(vault))
    case .vanished:
      // A new process cannot know that there was a vault.
      let isNew = processes[index].shown == .restoring
      if limits.faults.contains(.vanishedReadsAsAbsence) || isNew { return .absent }
      return .trouble(.unavailable("gone"))
    case .unavailable, .locked:
      if limits.faults.contains(.troubleReadsAsAbsence) { return .absent }
      return .trouble(vaultState == .locked ? .locked : .unavailable("out of order"))
    case .accessOnly:
      guard let session = vault.session, session.access != nil else { return .trouble(.locked) }
      return .accessOnly(session.withAccessOnly)
    }
  }

  private func shown(_ entry: VaultEntry) -> VaultEntry {
    guard limits.faults.contains(.olderVaultIsAdopted) else { return entry }
    var entry = entry
    entry.revision = 0
    return entry
  }

  /// Applies an edit like a vault.
  mutating func write(_ unlocked: VaultEdit, by index: Int) -> VaultOutcome {
    let asked = locking(unlocked, by: index)
    switch vaultState {
    case .works, .unconfirmed: break
    case .unavailable, .vanished: return .failed(.unavailable("out of order"))
    case .full:
      // Space is reserved for a tombstone.
      guard asked.write.endsSession, vault.session != nil else { return .failed(.unavailable("full")) }
      if limits.faults.contains(.fullDiskForgetsEnds), case .write(let new) = asked.applied(to: vault) {
        bury(by: asked, of: index)
        vault.session = nil
        durable = vault
        return .done(new)
      }
    case .crammed:
      if asked.write.endsSession, vault.session != nil, case .write(let new) = asked.applied(to: vault) {
        bury(by: asked, of: index)
        // Tombstones of earlier sign-outs are lost with it.
        buried.subtract(vault.tombstones.map(\.session))
        vault = VaultEntry(revision: limits.goesBack == 0 ? 0 : new.revision)
        durable = vault
      }
      return .failed(.unavailable("full"))
    case .locked, .accessOnly: return .failed(.locked)
    }
    if ledger.jobs != nil { ledger.jobs?.append(VaultRecord(process: index, edit: asked)) }
    let edit = faulty(asked)
    if limits.faults.contains(.signOutWritesNothing), case .signOut = edit {
      var pretended = vault
      pretended.session = nil
      return .done(pretended)
    }
    switch edit.applied(to: vault) {
    case .write(var new):
      if limits.goesBack == 0 { new.revision = 0 }  // Histories with the same result are one state.
      if new.session?.refresh != vault.session?.refresh { older = vault }
      if limits.goesBack == 0 { older = nil }
      if case .advance(_, let tokens) = edit { presented[tokens.sent] = nil }
      if limits.oneSessionEach, case .begin(let session, _) = edit { judgeBeginning(session) }
      if case .advance = edit, thief.map({ $0.successes > 0 }) ?? false { thief?.victimSteps += 1 }
      bury(by: edit, of: index)
      if case .touch(let session, let time) = asked { ledger.usedAt[session] = (time, serverTime) }
      vault = new
      for other in processes.indices where other != index && limits.signals { processes[other].isBehind = true }
      if isDurable(edit) {
        if vaultState != .unconfirmed { durable = new }
        if let session = new.session?.id { ledger.stored.insert(session) }
      }
      return vaultState == .unconfirmed ? .failed(.unavailable("not synced")) : .done(shown(new))
    case .unchanged:
      guard vaultState == .works || vaultState == .full else { return .failed(.unavailable("not synced")) }
      // The vault confirms that the entry is durable, whichever process wrote it.
      durable = vault
      return .done(shown(vault))
    case .conflict:
      return .conflict(shown(vault))
    }
  }

  private func isDurable(_ edit: VaultEdit) -> Bool {
    switch edit {
    case .prepare: !limits.faults.contains(.keyIsNotDurable)
    case .begin: !limits.faults.contains(.signInIsNotDurable)
    case .prepareSignIn, .forgetSignIn, .updateAttempt, .advance, .renew, .identify, .putBack, .end, .signOut, .bury,
      .delivered, .replaceRevocation, .postpone, .cleaned, .touch, .claim, .receive, .vacate:
      true
    }
  }

  /// Records the end of a session by a sign-out or a new sign-in, and checks that nothing else ends a session.
  private mutating func bury(by edit: VaultEdit, of index: Int) {
    guard let stored = vault.session else { return }
    let session = stored.id
    switch edit {
    case .signOut(_, let time, let steps, let isLate):
      if isLate, let later = stored.startedAt.elapsed(since: time), later > .zero { return }
      bury(session, doing: steps)
    case .begin(let new, let steps) where new.id != session:
      bury(session, doing: new.isOfAnotherAccount(than: stored) ? steps : [])
    case .end(let ended, _, let reason, let time, let steps) where ended == session:
      if isOver(reason, session, at: time) || ledger.overdue.contains(session) { return bury(session, doing: steps) }
      // The server ends a session this way, as does a delayed sign-out that could not be written at first.
      if endedRightly.contains(session) { bury(session, doing: steps) }
      for server in sessions
      where !endedRightly.contains(session) && server.session == session && server.isAlive(at: serverTime) {
        if life == nil {
          verdict = .out("a client ended a session that the server accepts")
        } else {
          let invariant = ledger.garbageTo.contains(index) ? 7 : 4
          fail(invariant, "a client ended a session that the server accepts, because of \(reason)")
        }
      }
    case .prepareSignIn, .forgetSignIn, .begin, .prepare, .updateAttempt, .advance, .renew, .identify, .putBack, .end,
      .bury, .delivered,
      .replaceRevocation, .postpone, .cleaned, .touch, .claim, .receive, .vacate:
      break
    }
  }

  private mutating func bury(_ session: SessionID, doing steps: [String]) {
    endedRightly.insert(session)
    guard vaultState != .unconfirmed, vaultState != .crammed else { return }
    buried.insert(session)
    if life != nil { ledger.ordered[session, default: []].formUnion(steps) }
  }

  /// Whether the client's policy ends the session at `time` for this reason, by the vault's times or by the true ones.
  func isOver(_ reason: EndReason?, _ session: SessionID, at time: Moment) -> Bool {
    guard let stored = vault.session, stored.id == session else { return false }
    let truth = sessions.first { $0.session == session }?.startedAt ?? serverTime
    switch reason {
    case .expired: return isOver(stored.startedAt, truth, life?.absoluteLimit, at: time)
    case .idle:
      let used = ledger.usedAt[session]
      return isOver(stored.activeAt, truth, life?.idleLimit, at: time)
        && isOver(used?.shown ?? stored.activeAt, used?.truly ?? truth, life?.idleLimit, at: time)
    case .signedOut, .revoked, .replaced, .tokenReuseDetected, .accountClosed, .endedAtProvider, .rejected,
      .repeatRefused, .erased, nil:
      return false
    }
  }

  private func isOver(_ start: Moment, _ truth: UnixTime, _ limit: Duration?, at time: Moment) -> Bool {
    limit.map { time.estimatedElapsed(since: start) >= $0 || serverTime.since(truth) >= $0 } ?? false
  }

  /// Returns the edit, altered by the planted fault.
  private func faulty(_ edit: VaultEdit) -> VaultEdit {
    switch edit {
    case .end(let session, holding: .some, let reason, let time, _) where limits.faults.contains(.endsWithoutComparing):
      .end(vault.session?.id ?? session, holding: nil, reason: reason, at: time)
    case .advance(let session, let tokens)
    where limits.faults.contains(.advancesWithoutComparing):
      .begin(
        StoredSession(
          id: session, profile: Profile(id: AccountID("ada"), name: "ada"), refresh: tokens.successor,
          revocation: RevocationHandle(session.rawValue), access: tokens.access, startedAt: now, activeAt: now))
    case .advance(let session, var tokens)
    where limits.faults.contains(.successorIsNotStored):
      .advance(
        session,
        {
          tokens.response.tokens.refresh = nil; return tokens
        }())
    case .prepare(let session, holding: let token, replacing: _, let key, let attempt, let previous)
    where limits.faults.contains(.comparesRefreshTokenAlone):
      .prepare(session, holding: token, key: key, attempt: attempt, over: previous)
    case .prepare(let session, holding: let token, let access, let key, let attempt?, _)
    where limits.faults.contains(.repeatsAtOnce):
      .prepare(
        session, holding: token, replacing: access, key: key, attempt: attempt, over: vault.session?.attempt)
    case .prepare(let session, holding: let token, replacing: _, let key, _, _)
    where limits.faults.contains(.preparesWithoutComparing) && vault.session?.refresh == token
      && vault.session?.id == session:
      if var stored = vault.session {
        .begin(
          {
            stored.pendingKey = key; return stored
          }())
      } else {
        edit
      }
    case .touch(let session, _) where limits.faults.contains(.activityIsIgnored):
      .touch(session, at: vault.session?.startedAt ?? now)
    case .prepareSignIn, .forgetSignIn, .begin, .prepare, .updateAttempt, .advance, .renew, .identify, .putBack, .end,
      .signOut, .bury,
      .delivered, .replaceRevocation, .postpone, .cleaned, .touch, .claim, .receive, .vacate:
      edit
    }
  }

  mutating func answerLock(_ index: Int, granted: Bool) {
    guard let operation = processes[index].lockWanted?.operation else { return }
    processes[index].lockWanted = nil
    // Third-party servers do not see keys.
    if limits.server == nil { processes[index].keysDrawn += 1 }
    let drawn = processes[index].keysDrawn
    let bytes =
      [UInt8(index), UInt8(truncatingIfNeeded: drawn), UInt8(truncatingIfNeeded: drawn >> 8)]
      + [UInt8](repeating: 0, count: 13)
    guard let key = RotationKey(bytes: bytes) else { return }
    if granted { holder = Holder(process: index, operation: operation) } else { ledger.lockWasRefused = true }
    let trouble: VaultError? = granted ? nil : .unavailable("the refresh lock is held elsewhere")
    perform(.locked(operation, key, failing: trouble), by: index)
  }
}
