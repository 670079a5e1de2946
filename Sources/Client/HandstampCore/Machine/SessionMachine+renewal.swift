/// Credentials that the server replaces along with a response, such as a cookie.
extension SessionMachine {
  /// Only for a session that is not refreshed: otherwise new tokens come only from its refresh.
  mutating func renewed(
    _ waiter: Waiter, _ session: SessionID, from old: Credential, to new: Credential
  ) -> [Effect] {
    guard case .live(let live) = phase, live.stored.id == session, live.stored.refresh == nil, !live.hasOnlyAccess
    else {
      return [.finish(waiter, .failure(.cancelled))]
    }
    guard let access = live.access, access.credential == old else {
      return [.finish(waiter, .success(.renewedElsewhere))]
    }
    let renewed = StoredAccess(new, lifetime: access.lifetime)
    return [
      edit(
        .renew(session, holding: live.credentialInVault ?? old, with: renewed), for: .renew(waiter, session, renewed))
    ]
  }

  mutating func renewAgain() -> [Effect] {
    guard let live, let credentialInVault = live.credentialInVault, let access = live.access else { return [] }
    return [
      edit(.renew(live.stored.id, holding: credentialInVault, with: access), for: .renew(nil, live.stored.id, access))
    ]
  }

  /// The replacement was written, or not. If not, it is used nevertheless, and the write is retried while the program runs.
  mutating func renewed(
    _ waiter: Waiter?, _ session: SessionID, _ access: StoredAccess, _ outcome: VaultOutcome, at now: Moment
  ) -> [Effect] {
    func finish(_ result: Result<CommandOutcome, SessionError>) -> [Effect] {
      waiter.map { [.finish($0, result)] } ?? []
    }
    switch outcome {
    case .done(let entry): return absorb(entry, isOwn: true, at: now) + finish(.success(.renewed))
    case .conflict(let entry): return absorb(entry, at: now) + finish(.success(.renewedElsewhere))
    case .failed(let trouble):
      guard let live, live.stored.id == session, let held = live.access else {
        return finish(.failure(.storage(trouble)))
      }
      self.live?.credentialInVault = live.credentialInVault ?? held.credential
      if waiter != nil {
        if live.stored.revocation?.secret == held.credential.secret {
          self.live?.stored.revocation = RevocationHandle(access.credential.secret)
        }
        self.live?.stored.access = access
      }
      let trouble = audit(.trouble, live.stored, "renew", at: now)
      return [trouble, startTimer(.renew, after: .seconds(waiter == nil ? 5 : 1))] + finish(.success(.renewed))
    }
  }
}
