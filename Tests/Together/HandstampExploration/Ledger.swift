import HandstampCore

/// The memory of the checks about a history. It does not distinguish states of a ``World``: it records how they were
/// reached, not what may follow.
struct Ledger: Sendable, Hashable {
  /// The key with which honest processes sent each token.
  var sent: [RefreshToken: RotationKey] = [:]
  /// The key with which the server accepted each token.
  var accepted: [RefreshToken: RotationKey] = [:]
  /// The processes whose last response was garbage.
  var garbageTo: Set<Int> = []
  /// The last stored session and server checked for acceptance.
  var judged: (stored: StoredSession, server: ModelServer)?
  /// The last use of each session, as recorded in the vault and in truth.
  var usedAt: [SessionID: (shown: Moment, truly: UnixTime)] = [:]
  /// Sessions correctly found to be expired by policy. One may still be used before that is written.
  var overdue: Set<SessionID> = []
  /// Whether the refresh lock was ever refused. If so, repeats of one pair are allowed.
  var lockWasRefused = false
  /// The clean-up steps performed, by session.
  var cleaned: [SessionID: Set<String>] = [:]
  /// The clean-up steps ordered by a sign-out, by session.
  var ordered: [SessionID: Set<String>] = [:]
  /// The last end that the vault told of when a process showed why a user is signed out, by process.
  var shownEnds: [Int: SessionID] = [:]
  /// The sessions that have ever been stored durably.
  var stored: Set<SessionID> = []
  var entropy: UInt64 = 0x9e37_79b9
  /// A line per event; `nil` if no trace is kept.
  var trace: [String]?
  /// The edits of every vault; `nil` if no record is kept.
  var jobs: [VaultRecord]?

  static func == (left: Ledger, right: Ledger) -> Bool { true }
  func hash(into hasher: inout Hasher) {}

  mutating func nextEntropy() -> UInt64 {
    entropy = entropy &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return entropy
  }
}

/// One edit of a simulated history, and its process.
struct VaultRecord: Sendable {
  var process: Int
  var edit: VaultEdit
}
