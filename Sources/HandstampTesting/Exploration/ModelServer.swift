package import HandstampCore
package import HandstampRegistry

/// One session at the server of a ``World``, under the real rules of ``Rotation``. Tokens say in clear what a real one says
/// under its MAC; that a MAC cannot be forged is taken for granted here.
package struct ModelServer: Sendable, Hashable {
  /// The rules, and what can be planted in them.
  package typealias Rules = RotationRules

  private let rotation: Rotation
  private var row: SessionRow
  /// What the store would show if its last commit were lost.
  private var previous: SessionRow?

  package init(rules: Rules, number: Int = 0) {
    rotation = Rotation(rules: rules)
    var bytes = NumberGenerator(number: UInt64(number))
    row = SessionRow(
      session: SessionBytes(from: &bytes), account: AccountID("ada"),
      device: DeviceInfo(id: DeviceID("d"), name: "d", platform: "test"), kind: .keyed, createdAt: ModelServer.time)
  }

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

  /// Whether `token` is one of this session's.
  package func issued(_ token: RefreshToken) -> Bool { claims(of: token) != nil }

  package mutating func revoke() {
    row.end = row.end ?? SessionEnd(at: ModelServer.time, reason: .revoked)
  }

  /// The store forgets its last rotation. Ends are never forgotten: their commits are durable, a lost one is beyond repair.
  package mutating func loseCommit() {
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

  private func grant(_ claims: RefreshClaims) -> Grant {
    let text = "\(session.rawValue) \(claims.counter) \(claims.mark.rawValue)"
    return Grant(
      tokens: TokenSet(access: AccessToken("a" + text), life: nil, refresh: RefreshToken(text)), session: session,
      profile: World.profile, revocation: RevocationHandle(session.rawValue))
  }

  private func claims(of token: RefreshToken) -> RefreshClaims? {
    let parts = token.secret.withExposed { $0.split(separator: " ").map(String.init) }
    guard parts.count == 3, parts[0] == session.rawValue, let counter = UInt64(parts[1]), let mark = UInt64(parts[2])
    else { return nil }
    return RefreshClaims(session: row.session, counter: counter, mark: KeyMark(rawValue: mark))
  }
}

private struct NumberGenerator: RandomNumberGenerator {
  var number: UInt64
  mutating func next() -> UInt64 { number }
}
