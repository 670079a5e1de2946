import HandstampCore

/// What can be read without waiting, derived from the machine whenever its token changes.
struct Snapshot: Sendable {
  /// The current token and its header; nothing while nobody is signed in.
  var access: StoredAccess?
  var header: String?
  /// The uptimes between which the token serves by itself, with the refresh ahead of expiry still to come. Empty without
  /// a token.
  var servesFrom: Duration = .zero
  var servesUntil: Duration = .zero
  /// When the token ends.
  var end: Duration = .zero
  var life: Duration = .zero
  /// Sign-outs that have begun and that the machine has not heard of yet.
  var fences = 0

  init() {}

  init(_ access: StoredAccess?, policy: RefreshPolicy, boot: UInt64) {
    guard let access else { return }
    self.access = access
    header = access.token.secret.withExposed { "Bearer " + $0 }
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
    servesUntil = policy.aheadOfExpiry ? end - policy.margin(forLife: life) : end
  }

  /// Takes over what the machine says, unless a fence stands.
  mutating func renew(_ new: Snapshot) {
    let fences = fences
    self = fences == 0 ? new : Snapshot()
    self.fences = fences
  }

  /// No token from now on, until ``lowerFence()``.
  mutating func raiseFence() {
    fences += 1
    renew(Snapshot())
  }

  mutating func lowerFence() { fences -= 1 }

  /// The token, if it serves for `validity` more and no refresh is due.
  func token(at uptime: Duration, for validity: Duration) -> AccessToken? {
    guard let access, uptime >= servesFrom, uptime < servesUntil else { return nil }
    if validity > .zero, end - uptime < SessionMachine.clamp(validity, toLife: life) { return nil }
    return access.token
  }
}
