/// Tokens that are not in the vault yet.
extension SessionMachine {
  /// Retries to store unsaved tokens, independently of any refresh.
  mutating func saveAgain() -> [Effect] {
    guard let live, live.refresh == nil, let unsaved = live.unsaved else { return [] }
    return [edit(.advance(live.stored.id, unsaved), for: .save(unsaved))]
  }

  mutating func savedAgain(_ unsaved: RefreshedTokens, _ outcome: VaultOutcome, at now: Moment) -> [Effect] {
    guard let live, live.unsaved == unsaved, live.refresh == nil else { return [.ignored] }
    switch outcome {
    case .conflict(let entry) where wentBack(entry) && entry.session?.id == live.stored.id:
      // An older copy was restored: it has to be brought up to date first.
      return absorb(entry, at: now) + [startTimer(.save, after: .seconds(5))]
    case .done(let entry), .conflict(let entry):
      self.live?.unsaved = nil
      keepSuccessor(unsaved, of: live, unlessIn: entry)
      // They have been in use since they arrived.
      return absorb(entry, isOwn: entry.session?.refresh == unsaved.successor, at: now)
    case .failed: return [startTimer(.save, after: .seconds(5))]
    }
  }

  /// Releases the lock that was kept for unsaved tokens, once they are stored or obsolete.
  mutating func releaseLockOfUnsaved() -> [Effect] {
    guard let live, let lock = live.lockOfUnsaved, live.unsaved == nil else { return [] }
    self.live?.lockOfUnsaved = nil
    return [.unlock(lock)]
  }
}
