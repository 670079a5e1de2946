/// Performs what ``RevocationQueue`` decides.
extension SessionMachine {
  /// Whether no revocation is in flight or due.
  package var isDeliveryOver: Bool { revocations.isIdle }

  /// Sends every pending revocation that is due.
  mutating func deliver(at now: Moment) -> [Effect] { perform(revocations.send(at: now), at: now) }

  /// Revokes with refresh tokens that arrived after the end of their session.
  mutating func tellOfSuccessors(at now: Moment) -> [Effect] {
    var ended: SessionID?
    if case .ending(let ending) = phase { ended = ending.session }
    return perform(revocations.tellOfSuccessors(inUse: session, ending: ended, at: now), at: now)
  }

  mutating func revocationAnswered(
    _ session: SessionID, _ result: RevocationResult, entropy: UInt64, at now: Moment
  ) -> [Effect] {
    perform(revocations.answered(session, result, entropy: entropy, by: policy.retry, at: now), at: now)
  }

  private mutating func perform(_ steps: [RevocationQueue.Step], at now: Moment) -> [Effect] {
    steps.map { step in
      switch step {
      case .revoke(let session, let handle): .revoke(session, handle)
      case .wait(let delay): startTimer(.deliver, after: delay)
      case .recordConfirmation(let session, let handle): edit(.delivered(session, with: handle), for: .delivered)
      case .recordDelay(let session, let handle, let delay):
        edit(.postpone(session, with: handle, delay), for: .postpone)
      case .recordHandle(let session, let handle, let former):
        edit(.tell(session, with: handle, insteadOf: former), for: .tell)
      case .refused(let session, let code):
        .audit(
          AuditEntry(
            action: .end, session: session, account: nil, at: now.wall, outcome: "server_not_told_\(code)"))
      case .ignored: .ignored
      }
    }
  }
}

/// Successors that arrived after the end of their session. Where the refresh token ends the session, the server needs the
/// newest one: a replaced token ends nothing.
extension SessionMachine {
  mutating func lateAnswer(_ answer: RefreshResult, of session: SessionID, sent: RefreshToken) -> [Effect] {
    let successor: RefreshToken? =
      switch answer {
      // Tokens of another session do not count.
      case .granted(let grant):
        grant.session == nil || grant.session == session || session.isLocal ? grant.tokens.refresh : nil
      case .noDecision(.unusableTokens(_, let successor), _): successor
      case .rejected, .superseded, .noDecision: nil
      }
    guard let successor, successor != sent else { return [.ignored] }
    revocations.keep(successor, after: sent, of: session)
    return []
  }

  /// Keeps the successors that an ended session's refresh has returned, or may yet return.
  mutating func keepSuccessors(of live: Live) {
    if let unsaved = live.unsaved { keepSuccessor(unsaved, of: live) }
    switch live.refresh?.state {
    case .sending(let operation, let sent, _) where isEnded(live, with: sent):
      work[operation] = .lateAnswer(live.stored.id, sent: sent)
    case .saving(_, let tokens): keepSuccessor(tokens, of: live)
    default: break
    }
    for case .save(let tokens) in work.values { keepSuccessor(tokens, of: live) }
  }

  /// Keeps tokens that could not be written before their session ended; `entry` is the vault as it is now.
  mutating func keepSuccessor(_ tokens: Unsaved, of live: Live, unlessIn entry: VaultEntry? = nil) {
    guard entry?.session?.id != live.stored.id, isEnded(live, with: tokens.sent), tokens.successor != tokens.sent
    else { return }
    revocations.keep(tokens.successor, after: tokens.sent, of: live.stored.id)
  }

  private func isEnded(_ live: Live, with token: RefreshToken) -> Bool {
    !supportsRotationKeys && live.stored.revocation?.secret == token.secret
  }

  /// An older vault had been restored: its tombstone contains a replaced token.
  mutating func keepNewerHandle(of ending: Ending, than entry: VaultEntry) {
    guard !supportsRotationKeys, revision > 0, entry.revision <= revision, let session = ending.session,
      let own = ending.revocation,
      let older = entry.tombstone(of: session)?.revocation, older != own
    else { return }
    revocations.keep(RefreshToken(own.secret), after: RefreshToken(older.secret), of: session)
  }
}
