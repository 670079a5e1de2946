/// The revocations of ended sessions that the server has not confirmed yet. A small machine beside ``SessionMachine``: it
/// decides what is sent and what the tombstones record.
///
/// Where the refresh token itself ends the session, the server needs the newest one, because a replaced token ends nothing:
/// this is why successors that arrive late are kept here.
package struct RevocationQueue: Sendable, Hashable {
  /// The handles of ended sessions whose revocation is pending.
  package private(set) var pending: [SessionID: RevocationHandle] = [:]
  /// Those that are being sent.
  private var inFlight: Set<SessionID> = []
  /// Those that must be sent again, with a newer handle.
  private var again: Set<SessionID> = []
  /// Those that wait, since the server's response decided nothing.
  private var delays: [SessionID: DeliveryDelay] = [:]
  /// Those that were confirmed while this program ran, newest last: a read in progress may still return their handle.
  private var confirmed: [Confirmed] = []
  /// Refresh tokens that arrived after the end of their session.
  private var successors: [SessionID: Successor] = [:]
  private var failures = 0

  private struct Confirmed: Sendable, Hashable {
    var session: SessionID
    var handle: RevocationHandle
  }

  private struct Successor: Sendable, Hashable {
    var sent: RefreshToken
    var successor: RefreshToken
    var isTold = false
  }

  /// What follows from a change, in this order.
  enum Step: Sendable, Hashable {
    case revoke(SessionID, RevocationHandle)
    /// Looks again after this time.
    case wait(Duration)
    /// The server has the session's end.
    case recordConfirmation(SessionID, RevocationHandle?)
    case recordDelay(SessionID, RevocationHandle, DeliveryDelay)
    /// The tombstone gets a newer handle.
    case recordHandle(SessionID, RevocationHandle, insteadOf: RevocationHandle)
    /// The server refused for good, with this code.
    case refused(SessionID, String)
    case ignored
  }

  // MARK: What is pending

  /// A session ended.
  mutating func add(_ session: SessionID, _ handle: RevocationHandle) { pending[session] = handle }

  /// The session is in use, whatever was pending: an older vault had been restored, or it was signed in to again.
  mutating func remove(_ session: SessionID) {
    pending[session] = nil
    delays[session] = nil
  }

  /// A sign-in began this session anew.
  mutating func forget(_ session: SessionID) {
    remove(session)
    confirmed.removeAll { $0.session == session }
  }

  /// Takes over what a tombstone has pending, whichever program left it.
  mutating func note(_ tombstone: Tombstone) {
    let session = tombstone.session
    guard let handle = tombstone.revocation.map({ newest($0, of: session) }),
      !confirmed.contains(Confirmed(session: session, handle: handle))
    else { return }
    // The server is being sent an older handle, which may end nothing.
    if let former = pending[session], former != handle, inFlight.contains(session) { again.insert(session) }
    if pending[session] != handle { delays[session] = nil }
    pending[session] = handle
    if tombstone.delay?.attempts ?? 0 > delays[session]?.attempts ?? 0 { delays[session] = tombstone.delay }
  }

  /// Whether no revocation is in flight or due.
  var isIdle: Bool { pending.keys.allSatisfy { delays[$0] != nil && !inFlight.contains($0) } }

  // MARK: Sending

  /// The network came back: the next failure is the first again.
  mutating func resetFailures() { failures = 0 }

  /// Sends every pending revocation that is due.
  mutating func send(at now: Moment) -> [Step] {
    var steps: [Step] = []
    for session in pending.keys.sorted() where !inFlight.contains(session) {
      guard let handle = pending[session], delays[session]?.rest(at: now) ?? .zero <= .zero else { continue }
      inFlight.insert(session)
      steps.append(.revoke(session, handle))
    }
    // All others are being sent now.
    let rests = pending.keys.filter { !inFlight.contains($0) }.compactMap { delays[$0]?.rest(at: now) }
    if let first = rests.min() { steps.append(.wait(max(.seconds(1), first))) }
    return steps
  }

  mutating func answered(
    _ session: SessionID, _ result: RevocationResult, entropy: UInt64, by policy: RetryPolicy, at now: Moment
  ) -> [Step] {
    guard inFlight.remove(session) != nil else { return [.ignored] }
    if case .noDecision(let failure) = result {
      if failure.isRefusalWithoutReason, !again.contains(session), let handle = pending[session] {
        let delay = DeliveryDelay.next(after: delays[session], at: now)
        delays[session] = delay
        return [.recordDelay(session, handle, delay)] + send(at: now)
      }
      failures += 1
      let delay = policy.delay(afterAttempt: failures, entropy: entropy, retryAfter: nil)
      // No caller waits for it: never at once, whatever the policy's base.
      return [.wait(max(.seconds(1), delay))]
    }
    failures = 0
    if successors[session]?.isTold == true, !again.contains(session) { successors[session] = nil }
    if again.remove(session) != nil { return send(at: now) }
    delays[session] = nil
    let handle = pending.removeValue(forKey: session)
    if let handle { confirmed = confirmed.suffix(31) + [Confirmed(session: session, handle: handle)] }
    return [.recordConfirmation(session, handle)] + (result.refusalCode.map { [.refused(session, $0)] } ?? [])
  }

  // MARK: Successors

  /// The sessions whose newest refresh token is known only here.
  var sessionsWithSuccessors: [SessionID] { Array(successors.keys) }

  /// A refresh token arrived after the end of its session.
  mutating func keep(_ successor: RefreshToken, after sent: RefreshToken, of session: SessionID) {
    successors[session] = Successor(sent: sent, successor: successor)
  }

  /// Revokes with late successors, but not before the end of their session is stored.
  ///
  /// - Parameters:
  ///   - session: the one in use, which needs none.
  ///   - ending: the one whose end is being stored.
  mutating func tellOfSuccessors(inUse session: SessionID?, ending: SessionID?, at now: Moment) -> [Step] {
    guard !successors.isEmpty else { return [] }
    if let session { successors[session] = nil }
    var steps: [Step] = []
    for (session, late) in successors.sorted(by: { $0.key < $1.key }) where !late.isTold && session != ending {
      successors[session]?.isTold = true
      let handle = RevocationHandle(late.successor.secret)
      pending[session] = handle
      delays[session] = nil
      confirmed.removeAll { $0.session == session }
      if inFlight.contains(session) { again.insert(session) }
      steps.append(.recordHandle(session, handle, insteadOf: RevocationHandle(late.sent.secret)))
    }
    return steps + send(at: now)
  }

  /// Returns the newest handle of an ended session, if its tombstone contains an older one.
  private func newest(_ handle: RevocationHandle, of session: SessionID) -> RevocationHandle {
    guard let late = successors[session], late.sent.secret == handle.secret else { return handle }
    return RevocationHandle(late.successor.secret)
  }
}
