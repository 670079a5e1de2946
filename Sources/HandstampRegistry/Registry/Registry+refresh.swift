public import HandstampCore

/// The result of a refresh. Everything but ``issued(_:)`` is an error of RFC 6749 section 5.2.
public enum RefreshOutcome: Sendable, Hashable {
  /// A new refresh token, already durable. The caller mints the access token.
  case issued(Issue)
  /// `invalid_grant` with `error_code: superseded`: the client's store is out of date. The session lives on.
  case superseded(SessionID)
  /// `invalid_grant` with the reason: the session has ended, or is unknown.
  case ended(SessionID, EndReason)
  /// `invalid_grant` with the reason `misused`: a token was used twice. This call ended the session.
  case theft(SessionRow, TheftSign, [StoredEvent])
  /// `invalid_grant` without details: this server did not issue the token. Nothing changed.
  case forged
  /// `invalid_request`: the rotation key is malformed, or missing in a session of the server's own protocol. Nothing changed.
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
    /// The sessions that the first use of this one ended.
    public var displaced = EndOutcome.nothing
  }

  /// How a successor came about.
  public enum Course: Sendable, Hashable {
    case rotated
    /// The client proves itself, so its refresh token stays.
    case kept
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
  ///   - key: the `rotation_key` parameter, any bytes.
  ///   - client: the requesting client; `nil` for the server's own app.
  ///   - proof: the thumbprint of the key of the request's DPoP proof.
  ///   - terms: what is known of the client; that it proves itself also if the session is bound to its key.
  ///   - admits: whether the session was granted what the request asks for. Called before anything is written.
  public func refresh(
    _ token: RefreshToken, key: Secret?, client: String? = nil, proof: String? = nil,
    terms: RefreshTerms = RefreshTerms(), now: UnixTime,
    admits: @escaping @Sendable (SessionRow) -> Bool = { _ in true }
  ) async throws(RegistryError) -> RefreshOutcome {
    switch mint.read(token) {
    case .genuine(let claims):
      return try await refresh(claims, key: key, client: client, proof: proof, terms: terms, now: now, admits: admits)
    case .forged: return .forged
    case .unknownKey(let id): throw .unknownKey(id)
    }
  }

  /// Handles a refresh whose token was read before, see ``TokenMint/read(_:)-(RefreshToken)``.
  package func refresh(
    _ claims: RefreshClaims, key: Secret?, client: String? = nil, proof: String? = nil,
    terms: RefreshTerms = RefreshTerms(), now: UnixTime,
    admits: @escaping @Sendable (SessionRow) -> Bool = { _ in true }
  ) async throws(RegistryError) -> RefreshOutcome {
    let mark = key.flatMap { KeyMark(parameter: $0) }
    guard key == nil || mark != nil else { return .invalidRequest }
    let id = claims.session.id
    var displaced: EndOutcome?
    for _ in 0..<Registry.attempts {
      let isSettled = displaced != nil
      let drawn = KeyMark(rawValue: random())
      let decided = try await change(id) {
        row, stored -> (value: Decision, changes: [RegistryChange], events: [RegistryEvent]) in
        guard let row else { return (.refused(.ended(id, .rejected)), [], []) }
        guard row.client?.id == client else { return (.refused(.otherClient), [], []) }
        guard row.dpopThumbprint == nil || row.dpopThumbprint == proof else { return (.refused(.otherProof), [], []) }
        guard admits(row) else { return (.refused(.notGranted), [], []) }
        var terms = terms
        if row.dpopThumbprint != nil { terms.isConstrained = true }
        let verdict = rotation.decide(
          row: row, token: claims, key: mark, drawn: drawn, terms: terms, now: now, stored: stored)
        if !isSettled, row.pending != nil, verdict.isRotation { return (.firstUse(row), [], []) }
        let (changes, events) = writes(of: verdict, on: row, now: now)
        return (.verdict(verdict, row), changes, events)
      }
      switch decided {
      case (.refused(let outcome), _)?: return outcome
      case (.verdict(let verdict, let row), let events)?:
        return outcome(of: verdict, on: row, events, displacing: displaced ?? .nothing)
      // It takes the place of others, in a write of its own: all of them have to be read for it.
      case (.firstUse(let row), _)?: displaced = try await settle(row, now: now)
      // The row has changed in the meantime: decide again.
      case nil: continue
      }
    }
    throw Registry.contention
  }

  /// What is decided about a request while its session cannot change.
  private enum Decision: Sendable {
    case refused(RefreshOutcome)
    case verdict(RotationVerdict, SessionRow)
    /// The refresh is the first use of a pending session.
    case firstUse(SessionRow)
  }

  /// What carries out a verdict.
  private func writes(
    of verdict: RotationVerdict, on row: SessionRow, now: UnixTime
  ) -> (changes: [RegistryChange], events: [RegistryEvent]) {
    switch verdict {
    case .rotate(let next, _), .stay(let next, _), .fastForward(let next, _, _):
      return ([.replaceSession(next, expecting: row.revision)], [])
    case .theft(let ended, let sign):
      // The second use is a fact, however often either party refreshes in the meantime.
      let end = ending(row, SessionEnd(at: now, reason: .tokenReuseDetected))
      let notice = notice(.tokenTheft, of: row.account, device: row.device.name, now: now)
      let audit = audited(
        .theftDetected, account: row.account, session: row.id, details: #"{"sign":"\#(sign.rawValue)"}"#, at: now)
      return (end + [audit] + notice + TakeBack.pending.changes(of: row.account), [.revoked(ended, at: now)])
    case .again(_, let next) where !row.isKeyed:
      // A thief who refreshes within the overlap gets the same successor: the owner may want to know when.
      let audit = audited(.refreshRepeated, account: row.account, session: row.id, at: now)
      return ((next.map { [.replaceSession($0, expecting: row.revision)] } ?? []) + [audit], [])
    case .again, .superseded, .ended, .invalidRequest: return ([], [])
    }
  }

  /// The result of a verdict that was carried out.
  private func outcome(
    of verdict: RotationVerdict, on row: SessionRow, _ events: [StoredEvent], displacing displaced: EndOutcome
  ) -> RefreshOutcome {
    switch verdict {
    case .rotate(let next, let successor): issue(next, successor, .rotated, displaced)
    case .stay(let next, let token): issue(next, token, .kept, displaced)
    case .fastForward(let next, let successor, let lost): issue(next, successor, .fastForwarded(lost: lost), displaced)
    case .theft(let ended, let sign): .theft(ended, sign, events)
    case .again(let successor, _): issue(row, successor, .repeated)
    case .superseded: .superseded(row.id)
    case .ended(let reason): .ended(row.id, reason)
    case .invalidRequest: .invalidRequest
    }
  }

  private func issue(
    _ row: SessionRow, _ claims: RefreshClaims, _ course: RefreshOutcome.Course, _ displaced: EndOutcome = .nothing
  ) -> RefreshOutcome {
    .issued(
      RefreshOutcome.Issue(row: row, refreshToken: mint.refreshToken(claims), course: course, displaced: displaced))
  }

  /// Replaces `row` by `next`. Returns `nil` if the stored row is no longer `row`.
  func replace(
    _ row: SessionRow, by next: SessionRow, with more: [RegistryChange] = []
  ) async throws(RegistryError) -> [StoredEvent]? {
    try await write(more + [.replaceSession(next, expecting: row.revision)], [])
  }

  /// Changes a session. Returns `nil` if something that the changes expect has changed or is missing, or what they create exists.
  private func change<Value: Sendable>(
    _ id: SessionID,
    _ decide:
      @escaping @Sendable (SessionRow?, UnixTime?) -> (
        value: Value, changes: [RegistryChange], events: [RegistryEvent]
      )
  ) async throws(RegistryError) -> (value: Value, events: [StoredEvent])? {
    try await unlessChanged { () throws(RegistryStoreError) in try await store.change(id, decide) }
  }

  /// Writes changes. Returns `nil` if something that they expect has changed or is missing, or what they create exists.
  private func write(
    _ changes: [RegistryChange], _ events: [RegistryEvent]
  ) async throws(RegistryError) -> [StoredEvent]? {
    try await unlessChanged { () throws(RegistryStoreError) in try await store.write(changes, events: events) }
  }

  private func unlessChanged<Value: Sendable>(
    _ body: () async throws(RegistryStoreError) -> Value
  ) async throws(RegistryError) -> Value? {
    do throws(RegistryStoreError) { return try await body() } catch {
      switch error {
      case .alreadyExists, .conflict, .notFound: return nil
      case .unavailable: throw RegistryError(error)
      }
    }
  }
}

extension RotationVerdict {
  /// Whether the token is rotated now.
  fileprivate var isRotation: Bool {
    switch self {
    case .rotate, .stay, .fastForward: true
    case .again, .superseded, .theft, .ended, .invalidRequest: false
    }
  }
}
