import HandstampCore
import HandstampRegistry

/// One session at our own server, with the real rules of ``Rotation``. Tokens contain in clear text what real ones
/// protect with a MAC. Forging a MAC is assumed to be impossible.
package struct KeyedServer: Sendable, Hashable {
  private let rotation: Rotation
  private var row: SessionRow
  /// The row in the store if the last commit were lost.
  private var previous: SessionRow?
  private let servesAnyKey: Bool
  private let terms: RefreshTerms
  /// The number of access tokens issued for a refresh token that stayed.
  private var minted: UInt64 = 0
  /// The row as it was before the first commit that was not acknowledged; a failover may bring it back.
  private var acknowledged: SessionRow?
  let profile: Profile

  /// - Parameter limit: The server's limit for the session's lifetime.
  init(
    rules: ModelServer.Rules, number: Int = 0, person: String = "ada", oauth: World.OAuthKind? = nil,
    servesAnyKey: Bool = false,
    at time: UnixTime = World.start.wall, limit: Duration? = nil
  ) {
    #if Exploration
    rotation = Rotation(rules: rules)
    #else
    rotation = Rotation()
    #endif
    self.servesAnyKey = servesAnyKey
    terms = RefreshTerms(isConstrained: oauth == .constrained)
    profile = Profile(id: AccountID(person), name: person)
    var bytes = NumberGenerator(number: UInt64(number))
    row = SessionRow(
      session: SessionBytes(from: &bytes), account: profile.id,
      device: DeviceInfo(id: DeviceID("d"), name: "d", platform: "test"),
      kind: oauth == nil || oauth == .keyed ? .keyed : .plain,
      client: oauth.map { SessionClient(id: $0.rawValue, scope: "") },
      createdAt: time,
      absoluteExpiry: limit.map { time.advanced(by: $0) })
  }

  var session: SessionID { row.session.id }
  var startedAt: UnixTime { row.createdAt }
  var canLoseCommit: Bool { previous != nil }

  func isAlive(at time: UnixTime) -> Bool { row.endReason(at: time) == nil }
  func end(at time: UnixTime) -> EndReason? { row.endReason(at: time) }

  func firstGrant(life: Duration? = nil, at time: UnixTime = World.start.wall) -> TokenResponse {
    grant(RefreshClaims(session: row.session, counter: 0, mark: .zero), life: life, at: time)
  }

  mutating func present(
    _ token: RefreshToken, key: RotationKey?, life: Duration? = nil, at time: UnixTime = World.start.wall
  ) -> RefreshResult {
    guard let claims = claims(of: token) else { return .rejected(.rejected) }
    var mark = key.map { KeyMark(of: $0) }
    if servesAnyKey, claims.counter < row.counter, case .keyed(let known)? = row.ring.entries.last,
      claims.counter + 1 == row.counter
    {
      mark = known
    }
    let former = row
    let outcome = rotation.decide(
      row: row, token: claims, key: mark, drawn: KeyMark(rawValue: claims.counter + 0xd00), terms: terms, now: time)
    if terms.isConstrained { minted += 1 }
    // Who gets the response of a commit has waited for it, and for those before it.
    defer { if row != former { acknowledged = nil } }
    switch outcome {
    case .issued(let issue):
      store(issue.row)
      return .granted(grant(issue.token, life: life, at: time))
    case .superseded: return .superseded
    case .theft(let row, _):
      store(row)
      return .rejected(.tokenReuseDetected)
    case .ended(let reason): return .rejected(reason)
    case .invalidRequest, .forged, .otherClient, .notGranted, .otherProof: return .noDecision(.network(.timedOut))
    }
  }

  /// The session as a node has read it, and the decision.
  package struct Attempt: Sendable, Hashable {
    fileprivate var row: SessionRow
    fileprivate var outcome: RefreshOutcome
  }

  func attempt(_ token: RefreshToken, key: RotationKey?, at time: UnixTime) -> Attempt? {
    claims(of: token).map { claims in
      Attempt(
        row: row,
        outcome: rotation.decide(
          row: row, token: claims, key: key.map { KeyMark(of: $0) }, drawn: KeyMark(rawValue: claims.counter + 0xd00),
          now: time))
    }
  }

  /// Carries out what a node has decided. Returns its answer, or `nil` if the row has changed since it was read.
  ///
  /// - Parameter blindly: plants a fault: the node writes whatever the row is by now.
  mutating func commit(
    _ attempt: Attempt, _ commit: World.Commit, blindly: Bool, at time: UnixTime
  ) -> RefreshResult? {
    let answer: RefreshResult
    let new: SessionRow
    switch attempt.outcome {
    case .issued(let issue):
      (answer, new) = (.granted(grant(issue.token, life: nil, at: time)), issue.row)
      if new == attempt.row { return answer }
    case .theft(let ended, _): (answer, new) = (.rejected(.tokenReuseDetected), ended)
    case .superseded: return .superseded
    case .ended(let reason): return .rejected(reason)
    case .invalidRequest, .forged, .otherClient, .notGranted, .otherProof: return .noDecision(.network(.timedOut))
    }
    if case .theft = attempt.outcome {
      // Needs no revision: constant writes must not keep a stolen session alive.
      guard row.end == nil else { return .rejected(.tokenReuseDetected) }
    } else {
      guard blindly || row == attempt.row else { return nil }
    }
    switch commit {
    case .acknowledged:
      store(new)
      // A node that waits for this commit has waited for those before it.
      acknowledged = nil
    case .unknownDone:
      acknowledged = acknowledged ?? row
      store(new)
    case .unknownLost: break
    }
    return answer
  }

  var hasUnacknowledged: Bool { acknowledged != nil }

  /// The store continues without the commits that were not acknowledged.
  ///
  /// - Parameter losingEnds: plants a fault: it also loses an end that was.
  mutating func failOver(losingEnds: Bool) {
    guard var former = acknowledged else { return }
    if !losingEnds, row.end?.reason != .tokenReuseDetected { former.end = former.end ?? row.end }
    row = former
    acknowledged = nil
    previous = nil
  }

  mutating func revoke(_ reason: EndReason = .revoked, at time: UnixTime = World.start.wall) {
    row.end = row.end ?? SessionEnd(at: time, reason: reason)
  }

  /// The store loses its last rotation, but never an end: those commits are durable, and losing one could not be
  /// repaired.
  mutating func loseCommit() {
    guard var previous else { return }
    previous.end = row.end
    row = previous
    self.previous = nil
  }

  private mutating func store(_ new: SessionRow) {
    if new.counter != row.counter { previous = row }
    row = new
    row.revision = 0
  }

  private func grant(_ claims: RefreshClaims, life: Duration?, at time: UnixTime) -> TokenResponse {
    let text = "\(ModelServer.secretWord) \(session.rawValue) \(claims.counter) \(claims.mark.rawValue)"
    let ends = life.map { time.advanced(by: $0).milliseconds } ?? .max
    // A token that stays comes with new access tokens.
    let access = "\(ModelServer.secretWord) \(session.rawValue) \(claims.counter + minted) \(claims.mark.rawValue)"
    return TokenResponse(
      tokens: TokenSet(access: AccessToken("a \(access) \(ends)"), expiresIn: life, refresh: RefreshToken(text)),
      sessionID: session, profile: profile,
      revocation: RevocationHandle("\(ModelServer.secretWord) revokes \(session.rawValue)"),
      acceptsRotationKey: row.client != nil && row.isKeyed)
  }

  private func claims(of token: RefreshToken) -> RefreshClaims? {
    ModelServer.words(of: token.secret, of: session).map {
      RefreshClaims(session: row.session, counter: $0.0, mark: KeyMark(rawValue: $0.1))
    }
  }
}

private struct NumberGenerator: RandomNumberGenerator {
  var number: UInt64
  mutating func next() -> UInt64 { number }
}
