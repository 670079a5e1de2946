/// What requests carry, replaced by the server in passing: a cookie that comes with an answer.
extension SessionMachine {
  /// Only of a session that is not refreshed: the tokens of one that is come home by its refresh alone.
  mutating func renewed(
    _ waiter: Waiter, _ session: SessionID, from old: AccessToken, to new: AccessToken
  ) -> [Effect] {
    guard case .live(let live) = phase, live.stored.id == session, live.stored.refresh == nil, !live.isRefreshLocked
    else {
      return [.finish(waiter, .failure(.cancelled))]
    }
    guard let access = live.access, access.token == old else {
      return [.finish(waiter, .success(.renewedElsewhere))]
    }
    let renewed = StoredAccess(token: new, lifetime: access.lifetime)
    return [edit(.renew(session, holding: live.kept ?? old, with: renewed), for: .renew(waiter, session, renewed))]
  }

  /// It was written, or not. What could not be written serves all the same, and is tried again while the program runs.
  mutating func renewed(
    _ waiter: Waiter?, _ session: SessionID, _ access: StoredAccess, _ outcome: VaultOutcome, at now: Moment
  ) -> [Effect] {
    func finish(_ result: Result<SignedOutcome, SessionError>) -> [Effect] {
      waiter.map { [.finish($0, result)] } ?? []
    }
    switch outcome {
    case .done(let entry): return absorb(entry, at: now) + finish(.success(.renewed))
    case .conflict(let entry): return absorb(entry, at: now) + finish(.success(.renewedElsewhere))
    case .failed(let trouble):
      guard case .live(var live) = phase, live.stored.id == session, let held = live.access else {
        return finish(.failure(.storage(trouble)))
      }
      live.kept = live.kept ?? held.token
      if waiter != nil {
        if live.stored.revocation?.secret == held.token.secret {
          live.stored.revocation = RevocationHandle(access.token.secret)
        }
        live.stored.access = access
      }
      phase = .live(live)
      let trouble = audit(.trouble, live.stored, "renew", at: now)
      return [trouble, startTimer(.save, after: .seconds(waiter == nil ? 5 : 1))] + finish(.success(.renewed))
    }
  }
}
