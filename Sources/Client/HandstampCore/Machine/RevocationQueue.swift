/// The revocations of ended sessions on which the server has not decided yet. A small machine beside ``SessionMachine``: it
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
  /// Those on which the server decided while this program ran, newest last: a read in progress may still return their handle.
  private var completed: [Completed] = []
  /// Newer handles of ended sessions, which the stored tombstones do not have yet.
  private var successors: [SessionID: Successor] = [:]
  private var failures = 0

  private struct Completed: Sendable, Hashable {
    var session: SessionID
    var handle: RevocationHandle
  }

  private struct Successor: Sendable, Hashable {
    var previous: RevocationHandle
    var handle: RevocationHandle
    /// Whether its revocation is, or was, pending.
    var isAdded = false
  }

  // MARK: Pending revocations

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
    completed.removeAll { $0.session == session }
  }

  /// Takes over what a tombstone has pending, whichever program left it.
  mutating func note(_ tombstone: Tombstone) {
    let session = tombstone.session
    guard var handle = tombstone.revocation else { return }
    // The newest one, if the tombstone contains an older one.
    if let late = successors[session], late.previous == handle { handle = late.handle }
    if completed.contains(Completed(session: session, handle: handle)) { return }
    // The server is being sent an older handle, which may end nothing.
    if let previous = pending[session], previous != handle, inFlight.contains(session) { again.insert(session) }
    if pending[session] != handle { delays[session] = nil }
    pending[session] = handle
    if tombstone.delay?.attempts ?? 0 > delays[session]?.attempts ?? 0 { delays[session] = tombstone.delay }
  }

  /// Whether no revocation is in flight or due.
  package var isIdle: Bool { pending.keys.allSatisfy { delays[$0] != nil && !inFlight.contains($0) } }

  // MARK: Sending

  /// The network came back: the next failure is the first again.
  mutating func resetFailures() { failures = 0 }

  /// Sends every pending revocation that is due.
  mutating func send(at now: Moment) -> [SessionMachine.Effect] {
    var effects: [SessionMachine.Effect] = []
    for session in pending.keys.sorted() where !inFlight.contains(session) {
      guard let handle = pending[session], delays[session]?.rest(at: now) ?? .zero <= .zero else { continue }
      inFlight.insert(session)
      effects.append(.revoke(session, handle))
    }
    return effects
  }

  /// The time until the next postponed revocation is due, at least 1 s; `nil` if none is postponed.
  func rest(at now: Moment) -> Duration? {
    let rests = pending.keys.filter { !inFlight.contains($0) }.compactMap { delays[$0]?.rest(at: now) }
    return rests.min().map { max(.seconds(1), $0) }
  }

  /// A response arrived, or none; `false` unless one was awaited.
  mutating func arrived(for session: SessionID) -> Bool { inFlight.remove(session) != nil }

  /// The server refused without a reason: the next attempt is delayed, as the returned edit records. `nil` if the revocation is
  /// to be sent again anyway.
  mutating func postpone(_ session: SessionID, at now: Moment) -> VaultEdit? {
    guard !again.contains(session), let handle = pending[session] else { return nil }
    let delay = DeliveryDelay.next(after: delays[session], at: now)
    delays[session] = delay
    return .postpone(session, with: handle, delay)
  }

  /// There was no decision. Returns the delay of the next attempt.
  mutating func fail(entropy: UInt64, by policy: RetryPolicy) -> Duration {
    failures += 1
    // No caller waits for it: never at once, whatever the policy's base.
    return max(.seconds(1), policy.delay(afterAttempt: failures, entropy: entropy, retryAfter: nil))
  }

  /// The server decided, as the returned edit records. `nil` if a newer handle must be sent.
  mutating func complete(_ session: SessionID) -> VaultEdit? {
    failures = 0
    if successors[session]?.isAdded == true, !again.contains(session) { successors[session] = nil }
    if again.remove(session) != nil { return nil }
    delays[session] = nil
    let handle = pending.removeValue(forKey: session)
    if let handle { completed = completed.suffix(31) + [Completed(session: session, handle: handle)] }
    return .delivered(session, with: handle)
  }

  // MARK: Successors

  var hasSuccessors: Bool { !successors.isEmpty }

  /// The sessions whose newest handle is known only here.
  var sessionsWithSuccessors: [SessionID] { Array(successors.keys) }

  /// Keeps a newer handle of a session that has ended: a refresh token, where that is the handle.
  mutating func keep(_ handle: RevocationHandle, insteadOf previous: RevocationHandle, of session: SessionID) {
    successors[session] = Successor(previous: previous, handle: handle)
  }

  /// Adds revocations with late successors, but not before the end of their session is stored. The returned edits give the
  /// tombstones the newer handles.
  ///
  /// - Parameters:
  ///   - session: the one in use, which needs none.
  ///   - ending: the one whose end is being stored.
  mutating func addSuccessors(inUse session: SessionID?, ending: SessionID?) -> [VaultEdit] {
    if let session { successors[session] = nil }
    var edits: [VaultEdit] = []
    for (session, late) in successors.sorted(by: { $0.key < $1.key }) where !late.isAdded && session != ending {
      successors[session]?.isAdded = true
      pending[session] = late.handle
      delays[session] = nil
      completed.removeAll { $0.session == session }
      if inFlight.contains(session) { again.insert(session) }
      edits.append(.replaceRevocation(session, with: late.handle, insteadOf: late.previous))
    }
    return edits
  }
}
