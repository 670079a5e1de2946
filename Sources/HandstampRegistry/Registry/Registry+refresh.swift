public import HandstampCore

/// The result of a refresh. Everything but ``issued(_:)`` is an error of RFC 6749 section 5.2.
public enum RefreshOutcome: Sendable, Hashable {
  /// A new refresh token, already durable. The caller mints the access token.
  case issued(Issue)
  /// `invalid_grant` with `error_code: superseded`: the client's store is out of date. The session lives on.
  case superseded(SessionID)
  /// `invalid_grant` with the reason: the session has ended, or is unknown.
  case ended(SessionID, EndReason)
  /// `invalid_grant` with the reason `misused`: two parties hold the token. This call ended the session.
  case theft(SessionRow, TheftSign, [StoredEvent])
  /// `invalid_grant` without details: this server did not issue the token. Nothing changed.
  case forged
  /// `invalid_request`: a keyed session needs a well-formed rotation key. Nothing changed.
  case invalidRequest
  /// `invalid_grant`: the session belongs to another client. Nothing changed.
  case otherClient
  /// `invalid_scope` or `invalid_target`: the request asks for more than the session was granted. Nothing changed.
  case notGranted
  /// `invalid_grant`: the session's tokens are bound to another key, or the proof was missing (RFC 9449 section 5). Nothing
  /// changed.
  case otherProof

  /// The result of a successful refresh.
  public struct Issue: Sendable, Hashable {
    public var row: SessionRow
    public var refreshToken: RefreshToken
    public var course: Course
  }

  /// How a successor came about.
  public enum Course: Sendable, Hashable {
    case rotated
    /// The request was a retry and got the same successor again.
    case repeated
    /// The store had lost this many rotations. Operators should be alerted.
    case fastForwarded(lost: UInt64)
  }
}

extension Registry {
  /// Handles a refresh (RFC 6749 section 6) by applying the table of ``Rotation`` to the current row.
  ///
  /// - Parameters:
  ///   - token: the `refresh_token` parameter, any bytes.
  ///   - key: the `rotation_key` parameter, any bytes; an invalid key counts as none.
  ///   - client: the requesting client; `nil` for the server's own app.
  ///   - proof: the thumbprint of the key of the request's DPoP proof.
  ///   - admits: whether the session was granted what the request asks for. Called before anything is written.
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
    // 16 bytes encode to 22 characters; nothing longer is decoded.
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

  /// Carries out a verdict. Returns `nil` if the row changed in the meantime and the caller has to decide again.
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
      // The theft is a fact, however often either party refreshes in the meantime.
      let end = ending(row, SessionEnd(at: now, reason: .tokenReuseDetected))
      let notice = notice(.tokenTheft, of: row.account, device: row.device.name, now: now)
      let audit = audited(
        .theftDetected, account: row.account, session: row.id, details: #"{"sign":"\#(sign.rawValue)"}"#, at: now)
      guard let events = try await write(end + [audit] + notice, [.revoked(ended, at: now)]) else { return nil }
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

  /// Replaces `row` by `next`. Returns `nil` if the stored row is no longer `row`.
  func replace(
    _ row: SessionRow, by next: SessionRow, with more: [RegistryChange] = []
  ) async throws(RegistryError) -> [StoredEvent]? {
    try await write(more + [.replaceSession(next, expecting: row.revision)], [])
  }

  /// Writes changes. Returns `nil` if something that they expect has changed or is missing, or what they create exists.
  private func write(
    _ changes: [RegistryChange], _ events: [RegistryEvent]
  ) async throws(RegistryError) -> [StoredEvent]? {
    do throws(RegistryStoreError) { return try await store.write(changes, events: events) } catch {
      switch error {
      case .alreadyExists, .conflict, .notFound: return nil
      case .unavailable: throw RegistryError(error)
      }
    }
  }
}
