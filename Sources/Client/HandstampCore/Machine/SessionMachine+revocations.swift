/// Performs the decisions of ``RevocationQueue``.
extension SessionMachine {
  /// Whether the vault has yet to record the response to a revocation.
  package var isRecordingRevocation: Bool { work.values.contains { $0 == .revoked || $0 == .postpone } }

  /// Sends every pending revocation that is due.
  mutating func sendRevocations(at now: Moment) -> [Effect] {
    let sent = revocations.send(at: now)
    return sent + (revocations.rest(at: now).map { [startTimer(.revoke, after: $0)] } ?? [])
  }

  /// Revokes with refresh tokens that arrived after the end of their session.
  mutating func revokeSuccessors(at now: Moment) -> [Effect] {
    guard revocations.hasSuccessors else { return [] }
    var ended: SessionID?
    if case .ending(let ending) = phase { ended = ending.session }
    let edits = revocations.addSuccessors(inUse: session, ending: ended)
    return edits.map { edit($0, for: .updateRevocation) } + sendRevocations(at: now)
  }

  mutating func revocationCompleted(
    _ session: SessionID, _ result: RevocationResult, entropy: UInt64, at now: Moment
  ) -> [Effect] {
    guard revocations.arrived(for: session) else { return [.ignored] }
    if case .noDecision(let failure) = result {
      if failure.isRefusalWithoutReason, let postponement = revocations.postpone(session, at: now) {
        return [edit(postponement, for: .postpone)] + sendRevocations(at: now)
      }
      let delay = revocations.fail(entropy: entropy, by: policy.retry)
      return [startTimer(.revoke, after: delay)]
    }
    guard let end = revocations.complete(session) else { return sendRevocations(at: now) }
    let recorded = edit(end, for: .revoked)
    guard let code = result.refusalCode else { return [recorded] }
    let outcome = "server_not_told_\(code)"
    return [recorded, .audit(AuditEntry(action: .end, session: session, account: nil, at: now.wall, outcome: outcome))]
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
        grant.sessionID == nil || grant.sessionID == session || session.isLocal ? grant.tokens.refresh : nil
      case .noDecision(.unusableTokens(_, let successor), _): successor
      case .rejected, .superseded, .noDecision: nil
      }
    guard let successor, successor != sent else { return [.ignored] }
    revocations.keep(RevocationHandle(successor.secret), insteadOf: RevocationHandle(sent.secret), of: session)
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
  mutating func keepSuccessor(_ tokens: RefreshedTokens, of live: Live, unlessIn entry: VaultEntry? = nil) {
    guard entry?.session?.id != live.stored.id, isEnded(live, with: tokens.sent), tokens.successor != tokens.sent
    else { return }
    revocations.keep(
      RevocationHandle(tokens.successor.secret), insteadOf: RevocationHandle(tokens.sent.secret), of: live.stored.id)
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
    revocations.keep(own, insteadOf: older, of: session)
  }
}
