import HandstampCore

/// The values that can be read without waiting, derived from the machine whenever its token changes.
struct Snapshot: Sendable {
  /// The credential of requests now, and the header of a token; `nil` if no session is in use.
  var access: StoredAccess?
  var header: String?
  /// The uptimes between which the token is valid and no refresh is due. Empty without a token.
  var servesFrom: Duration = .zero
  var servesUntil: Duration = .zero
  /// When the token expires.
  var end: Duration = .zero
  var life: Duration = .zero
  /// The number of sign-outs that have begun and that the machine has not received yet.
  var fences = 0

  init() {}

  init(_ access: StoredAccess?, policy: RefreshPolicy, boot: UInt64) {
    guard let access else { return }
    self.access = access
    header = access.token?.secret.withExposed { "Bearer " + $0 }
    guard let lifetime = access.lifetime else {
      servesUntil = .seconds(Int64.max / 4)
      end = servesUntil
      life = servesUntil
      return
    }
    guard lifetime.start.boot == boot else { return }
    servesFrom = lifetime.start.uptime
    end = lifetime.start.uptime + lifetime.duration
    life = lifetime.duration
    servesUntil = policy.usesTimer ? end - policy.margin(forLifetime: life) : end
  }

  /// Withholds all tokens until the machine has received the sign-out.
  mutating func raiseFence() {
    let fences = fences + 1
    self = Snapshot()
    self.fences = fences
  }

  /// Returns the session's own credential if it is valid for as long as needed and no refresh is due.
  func credential(at uptime: Duration, for need: SessionMachine.Need) -> Credential? {
    guard need.refused == nil, need.target == nil else { return nil }
    guard let access, uptime >= servesFrom, uptime < servesUntil else { return nil }
    if need.validity > .zero, end - uptime < SessionMachine.clamp(need.validity, toLifetime: life) { return nil }
    return access.credential
  }
}
