/// A sign-in, from the server's response to the stored session.
extension SessionMachine {
  mutating func signIn(_ waiter: Waiter, at now: Moment) -> [Effect] {
    let former = signingIn
    signingIn = waiter
    return dropHeld(at: now) + (former.map { [.finish($0, .failure(.cancelled))] } ?? [])
  }

  mutating func signInAnswered(
    _ waiter: Waiter, _ result: Result<TokenResponse, SessionError>, by claim: SignInClaim, fallback: SessionID,
    remember: Bool, at now: Moment
  ) -> [Effect] {
    let isWanted = signingIn == waiter
    if isWanted { signingIn = nil }
    switch result {
    case .failure(let error):
      guard isWanted else { return [.ignored] }
      let entry = AuditEntry(failed: claim, inUse: live?.stored.profile?.id, error, at: now.wall)
      return [.audit(entry), .finish(waiter, .failure(error))]
    case .success(let grant):
      let id = grant.sessionID ?? fallback
      guard isWanted else {
        return orphan(id, grant.handle(revokesRefreshTokens: revokesRefreshTokens), at: now) + [.ignored]
      }
      let session = StoredSession(
        grant, id: id, at: now, issuer: issuer, revokesRefreshTokens: revokesRefreshTokens, isRemembered: remember)
      heldSignIn = Held(waiter: waiter, session: session, method: claim.method)
      return clean(again: true) + proceed(at: now)
    }
  }

  /// Stores the sign-in that waits, once nothing blocks it. Ends the session in use first if it is another account's. Otherwise
  /// makes sure that the sign-in does not wait indefinitely.
  mutating func proceed(anyway: Bool = false, at now: Moment) -> [Effect] {
    guard let heldSignIn else { return [] }
    switch phase {
    // A sign-in that waits for the vault or for an end is resumed when that has been answered.
    case .dormant, .restoring, .ending: return []
    case .live(let live)
    where heldSignIn.session.isOfAnotherAccount(than: live.stored) && !steps(for: .replaced).isEmpty:
      // The previous user's data is erased before the next user's arrives.
      return end(live, .replaced, at: now)
    case .live, .signedOut, .unavailable: break
    }
    guard anyway || !cleanups.isRunning else {
      return timers[.hold] == nil ? [startTimer(.hold, after: SessionMachine.holdLimit)] : []
    }
    self.heldSignIn = nil
    timers[.hold] = nil
    return [
      edit(
        .begin(heldSignIn.session, steps: steps(for: .replaced)),
        for: .begin(heldSignIn.waiter, heldSignIn.session, by: heldSignIn.method, isWanted: true))
    ]
  }

  /// A sign-in or a sign-out replaces the held one.
  mutating func dropHeld(at now: Moment) -> [Effect] {
    guard let heldSignIn else { return [] }
    self.heldSignIn = nil
    timers[.hold] = nil
    return orphan(heldSignIn.session.id, heldSignIn.session.revocation, at: now) + [
      .finish(heldSignIn.waiter, .failure(.cancelled))
    ]
  }

  /// A sign-in that no caller waits for succeeded at the server: revokes it there, unless it is the session in use, which was
  /// signed in to again.
  private mutating func orphan(_ session: SessionID, _ handle: RevocationHandle?, at now: Moment) -> [Effect] {
    guard let handle, session != self.session else { return [] }
    remember(session)
    revocations.add(session, handle)
    return sendRevocations(at: now)
  }

  /// The new session was written, or not. From here on only a sign-out can cancel it: a previous session is buried.
  mutating func began(
    _ waiter: Waiter, _ session: StoredSession, by method: SignInMethod, isWanted: Bool, _ outcome: VaultOutcome,
    at now: Moment
  ) -> [Effect] {
    switch outcome {
    case .done(let entry):
      guard isWanted else {
        // A sign-out came in between: its own edit, queued behind this one, ends the session in the vault.
        note(entry)
        if case .ending(let former) = phase {
          if let id = former.session { remember(id) }
          var ending = former
          ending.session = session.id
          ending.revocation = session.revocation
          ending.account = session.profile?.id
          phase = .ending(ending)
        }
        return []
      }
      unwrittenEnd = nil
      supersededToken = nil
      ended.removeAll { $0 == session.id }
      sessionNotToAdopt = nil
      revocations.forget(session.id)
      cleanups.forget(session.id)
      var effects: [Effect] = []
      switch phase {
      case .live(let former): effects += leave(former, telling: .signedOut(.replaced), for: session.id, at: now)
      case .ending(let ending): effects += leave(ending, for: session.id, at: now)
      case .dormant, .restoring, .signedOut, .unavailable: break
      }
      note(entry)
      effects += enter(entry.session ?? session, action: .signIn(method), at: now)
      if case .live(let live) = phase, case .signedIn(let facts) = live.state {
        effects.append(.finish(waiter, .success(.signedIn(facts))))
      } else {
        effects.append(.finish(waiter, .failure(.cancelled)))
      }
      return effects + sendRevocations(at: now) + proceed(at: now)
    case .failed(let trouble):
      let effects = orphan(session.id, session.revocation, at: now)
      guard isWanted else { return effects }
      return [audit(.signIn(method), session, "not_stored", at: now)] + effects
        + [.finish(waiter, .failure(.storage(trouble)))]
    case .conflict:
      let effects = orphan(session.id, session.revocation, at: now)
      guard isWanted else { return effects + [.ignored] }
      return [audit(.signIn(method), session, "not_stored", at: now)] + effects
        + [.finish(waiter, .failure(.storage(.unavailable("a sign-in was refused by the vault"))))]
    }
  }
}
