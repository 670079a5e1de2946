/// The profile of the session in use, completed or corrected outside a refresh.
extension SessionMachine {
  mutating func identified(_ waiter: Waiter, _ session: SessionID, as profile: Profile) -> [Effect] {
    guard let live, live.stored.id == session else { return [.finish(waiter, .failure(.cancelled))] }
    return [edit(.identify(session, profile), for: .identify(waiter, session))]
  }

  /// The profile was written, or not. Not retried: nothing is lost without it.
  mutating func identified(
    _ waiter: Waiter, _ session: SessionID, _ outcome: VaultOutcome, at now: Moment
  ) -> [Effect] {
    switch outcome {
    case .done(let entry):
      // The same user is back, as it turns out: their data stays.
      if let account = entry.session?.person { cleanups.keepData(of: account) }
      let effects = absorb(entry, isOwn: true, at: now)
      // It may have ended meanwhile.
      guard let live, live.stored.id == session, case .signedIn(let facts) = live.state else {
        return effects + [.finish(waiter, .failure(.cancelled))]
      }
      return effects + [.finish(waiter, .success(.signedIn(facts)))]
    case .conflict(let entry):
      let isOther = entry.session?.id == session
      let error: SessionError =
        isOther ? .refused(code: "other_account", detail: "the profile is another account's") : .cancelled
      return absorb(entry, at: now) + [.finish(waiter, .failure(error))]
    case .failed(let trouble): return [.finish(waiter, .failure(.storage(trouble)))]
    }
  }
}
