import HandstampCore

/// What the checks remember of a history. It does not tell two states of a ``World`` apart: it says how they were reached,
/// not what may follow.
struct Ledger: Sendable, Hashable {
  /// The key that each token was sent with, by honest processes.
  var sent: [RefreshToken: RotationKey] = [:]
  /// The marks of the keys with which the server accepted each token.
  var accepted: [RefreshToken: RotationKey] = [:]
  /// Who was answered by garbage last.
  var garbageTo: Set<Int> = []
  /// What the server was last asked whether it would accept.
  var judged: (stored: StoredSession, server: ModelServer)?
  /// When each session was last used, as far as the vault was told.
  var usedAt: [SessionID: (shown: Moment, truly: UnixTime)] = [:]
  /// Sessions that were rightly found to be over by policy; somebody may use one before that is written.
  var overdue: Set<SessionID> = []
  /// Whether the flight lock was ever refused: then repeats of one pair are in order.
  var lockWasRefused = false
  /// Steps that were done, by session.
  var cleaned: [SessionID: Set<String>] = [:]
  /// Steps that a sign-out asked for, by session, and whose session it was.
  var ordered: [SessionID: Set<String>] = [:]
  /// The sessions that had been stored durably at some time.
  var stored: Set<SessionID> = []
  var entropy: UInt64 = 0x9e37_79b9
  /// A line for everything that happens; nothing when nobody reads it.
  var trace: [String]?
  /// What every vault was asked to write; nothing when nobody asks.
  var jobs: [VaultRecord]?

  static func == (left: Ledger, right: Ledger) -> Bool { true }
  func hash(into hasher: inout Hasher) {}

  mutating func nextEntropy() -> UInt64 {
    entropy = entropy &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return entropy
  }
}

/// One edit of a simulated history, and whose it is.
struct VaultRecord: Sendable {
  var process: Int
  var edit: VaultEdit
}
