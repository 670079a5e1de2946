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
    _ session: SessionID, delivered: Bool, refusal: String?, isAnswered: Bool, entropy: UInt64, at now: Moment
  ) -> [Effect] {
    perform(
      revocations.answered(
        session, delivered: delivered, refusal: refusal, isAnswered: isAnswered, entropy: entropy, by: policy.retry,
        at: now), at: now)
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
