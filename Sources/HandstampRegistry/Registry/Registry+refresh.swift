public import HandstampCore

/// The answer to a refresh. Everything but ``issued(_:)`` is an error of RFC 6749 section 5.2.
public enum RefreshOutcome: Sendable, Hashable {
  /// A new refresh token, durable; mint an access token to go with it.
  case issued(Issue)
  /// `invalid_grant` with `error_code: superseded`: the client's store went back in time. The session lasts.
  case superseded(SessionID)
  /// `invalid_grant` with the reason: the session is over, or unknown.
  case ended(SessionID, EndReason)
  /// `invalid_grant` with the reason `misused`: the token is in two hands. The session ended just now.
  case theft(SessionRow, TheftSign, [StoredEvent])
  /// `invalid_grant` and nothing else: no token of ours. Nothing changed, nobody is accused.
  case forged
  /// `invalid_request`: a keyed session needs a well-formed rotation key. Nothing changed.
  case invalidRequest
  /// `invalid_grant`: the session is of another client. Nothing changed.
  case otherClient
  /// `invalid_scope` or `invalid_target`: more is asked for than the session has. Nothing changed.
  case notGranted
  /// `invalid_grant`: the session's tokens are bound to another key, or the proof was missing (RFC 9449 section 5). Nothing
  /// changed.
  case otherProof

  /// What a successful refresh hands out.
  public struct Issue: Sendable, Hashable {
    public var row: SessionRow
    public var refreshToken: RefreshToken
    public var course: Course
  }

  /// How a successor came about.
  public enum Course: Sendable, Hashable {
    case rotated
    /// The same successor as before: a retry.
    case repeated
    /// The store had lost this many rotations. Worth an alarm.
    case fastForwarded(lost: UInt64)
  }
}

extension Registry {
  /// Answers a refresh (RFC 6749 section 6): the table of ``Rotation``, with the row as it is at this instant.
  ///
  /// - Parameters:
  ///   - token: What came as `refresh_token`. Any bytes.
  ///   - key: What came as `rotation_key`. Any bytes; what is no key counts as none.
  ///   - client: who asks, where it is another client than the server's own app.
  ///   - proof: the thumbprint of the key that the request was proven with.
  ///   - admits: whether the session has what is asked for. Looked at before anything is written.
  public func refresh(
    _ token: RefreshToken, key: Secret?, client: String? = nil, proof: String? = nil, now: UnixTime,
    admits: (SessionRow) -> Bool = { _ in true }
  ) async throws(RegistryError) -> RefreshOutcome {
    let claims: RefreshClaims
    switch mint.read(token) {
    case .genuine(let genuine): claims = genuine
    case .forged: return .forged
    case .unknownKey(let id): throw .unknownKey(id)
    }
    // 22 characters are what 16 bytes make; nothing longer is decoded.
    let key = key.flatMap { $0.count == 22 ? $0.withExposed(RotationKey.init(wireText:)) : nil }
    let mark = key.map(KeyMark.init(of:))
    let id = claims.session.id
    for _ in 0..<Registry.attempts {
      let row = try await reading { () throws(RegistryStoreError) in try await store.session(id) }
      guard let row else { return .ended(id, .rejected) }
      guard row.client?.id == client else { return .otherClient }
      guard row.dpopThumbprint == nil || row.dpopThumbprint == proof else { return .otherProof }
      guard admits(row) else { return .notGranted }
      let drawn = KeyMark(rawValue: random())
      let verdict = rotation.decide(row: row, token: claims, key: mark, drawn: drawn, now: now)
      if let outcome = try await carryOut(verdict, on: row, now: now) { return outcome }
    }
    throw Registry.contention
  }

  /// Nothing when somebody else wrote to the row meanwhile: decide again.
  private func carryOut(
    _ verdict: RotationVerdict, on row: SessionRow, now: UnixTime
  ) async throws(RegistryError) -> RefreshOutcome? {
    switch verdict {
    case .rotate(let next, let successor):
      guard try await replace(row, by: next) != nil else { return nil }
      return issue(next, successor, .rotated)
    case .fastForward(let next, let successor, let lost):
      guard try await replace(row, by: next) != nil else { return nil }
      return issue(next, successor, .fastForwarded(lost: lost))
    case .theft(let ended, let sign):
      // A token that was in two hands was so, however often one of them refreshes meanwhile.
      let end = RegistryChange.endSession(row.id, SessionEnd(at: now, reason: .misused))
      guard let events = try await write([end], [.revoked(ended, at: now)]) else { return nil }
      return .theft(ended, sign, events)
    case .again(let successor): return issue(row, successor, .repeated)
    case .superseded: return .superseded(row.id)
    case .ended(let reason): return .ended(row.id, reason)
    case .invalidRequest: return .invalidRequest
    }
  }

  private func issue(_ row: SessionRow, _ claims: RefreshClaims, _ course: RefreshOutcome.Course) -> RefreshOutcome {
    .issued(RefreshOutcome.Issue(row: row, refreshToken: mint.refreshToken(claims), course: course))
  }

  /// Writes a row over the one it was made of. Nothing when that one is no longer there.
  func replace(_ row: SessionRow, by next: SessionRow) async throws(RegistryError) -> [StoredEvent]? {
    try await write([.replaceSession(next, expecting: row.revision)], [])
  }

  /// Nothing when a session is no longer what it was.
  private func write(
    _ changes: [RegistryChange], _ events: [RegistryEvent]
  ) async throws(RegistryError) -> [StoredEvent]? {
    do throws(RegistryStoreError) { return try await store.write(changes, events: events) } catch {
      switch error {
      case .changed, .missing: return nil
      case .exists, .unavailable: throw RegistryError(error)
      }
    }
  }
}
