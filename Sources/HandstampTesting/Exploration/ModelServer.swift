package import HandstampCore
package import HandstampRegistry

/// The server of a ``World``: one session under the real rules of ``Rotation``. Tokens say in clear what a real one says
/// under its MAC; that a MAC cannot be forged is taken for granted here.
package struct ModelServer: Sendable, Hashable {
  /// The rules, and what can be planted in them.
  package typealias Rules = RotationRules

  private let rotation: Rotation
  private var row: SessionRow
  /// What the store would show if its last commit were lost.
  private var previous: SessionRow?

  package init(rules: Rules) {
    rotation = Rotation(rules: rules)
    row = SessionRow(
      session: ModelServer.bytes, account: AccountID("ada"),
      device: DeviceInfo(id: DeviceID("d"), name: "d", platform: "test"), kind: .keyed, createdAt: ModelServer.time)
  }

  private static let bytes: SessionBytes = {
    var zero = ZeroGenerator()
    return SessionBytes(from: &zero)
  }()
  private static let time = UnixTime(seconds: 1_800_000_000)

  package var session: SessionID { row.session.id }
  package var isAlive: Bool { row.end == nil }
  package var canLoseCommit: Bool { previous != nil }

  package var firstGrant: Grant {
    grant(RefreshClaims(session: row.session, counter: 0, mark: .zero))
  }

  package mutating func present(_ token: RefreshToken, key: RotationKey?) -> SessionMachine.RefreshAnswer {
    guard let claims = claims(of: token) else { return .rejected(.rejected) }
    let verdict = rotation.decide(
      row: row, token: claims, key: key.map { KeyMark(of: $0) }, drawn: KeyMark(rawValue: claims.counter + 0xd00),
      now: ModelServer.time)
    switch verdict {
    case .rotate(let row, let successor), .fastForward(let row, let successor, _):
      store(row)
      return .granted(grant(successor))
    case .again(let successor): return .granted(grant(successor))
    case .superseded: return .superseded
    case .theft(let row, _):
      store(row)
      return .rejected(.misused)
    case .ended(let reason): return .rejected(reason)
    case .invalidRequest: return .none(retryAfter: nil, entropy: 0)
    }
  }

  package mutating func revoke(_ handle: RevocationHandle) {
    row.end = row.end ?? SessionEnd(at: ModelServer.time, reason: .revoked)
  }

  /// The store forgets its last rotation.
  package mutating func loseCommit() {
    guard let previous else { return }
    row = previous
    self.previous = nil
  }

  private mutating func store(_ new: SessionRow) {
    if new.counter != row.counter { previous = row }
    row = new
    row.revision = 0
  }

  private func grant(_ claims: RefreshClaims) -> Grant {
    let text = "\(claims.counter).\(claims.mark.rawValue)"
    return Grant(
      tokens: TokenSet(access: AccessToken("a" + text), life: nil, refresh: RefreshToken(text)), session: session,
      profile: World.profile, revocation: RevocationHandle("handle"))
  }

  private func claims(of token: RefreshToken) -> RefreshClaims? {
    let parts = token.secret.withExposed { $0.split(separator: ".").compactMap { UInt64($0) } }
    guard parts.count == 2 else { return nil }
    return RefreshClaims(session: row.session, counter: parts[0], mark: KeyMark(rawValue: parts[1]))
  }
}

private struct ZeroGenerator: RandomNumberGenerator {
  mutating func next() -> UInt64 { 0 }
}
