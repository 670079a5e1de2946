public import HandstampCore

/// The last clock reading of the servers on one store. From it, the next start and the other servers detect a clock that
/// jumped, and whether the jump is settled.
public struct ClockNote: Sendable, Hashable {
  /// The server time of the reading.
  public var at: UnixTime
  /// Since when the system clock has differed from the server time; `nil` while they agree.
  public var doubtedSince: UnixTime?
  /// Incremented by every note; 0 in the first one. A smaller revision than before means that the store was rolled back.
  public var revision: Int64
  /// The boot clock of the machine at the reading. Only the machine's own file has it, not the store: the next start on the
  /// same machine measures by it how long no server ran. `nil` if another machine may have written the note.
  package var boot: BootMark?

  public init(at: UnixTime, doubtedSince: UnixTime? = nil, revision: Int64 = 0) {
    self.at = at
    self.doubtedSince = doubtedSince
    self.revision = revision
  }

  /// Returns the note with the boot clock of the same note in a file of this machine.
  package func marked(by kept: ClockNote?) -> ClockNote {
    var note = self
    if let kept, kept.revision == revision, kept.at == at { note.boot = kept.boot }
    return note
  }

  /// Returns the revision of the note after `previous`.
  public static func revision(after previous: ClockNote?) -> Int64 { previous.map { $0.revision &+ 1 } ?? 0 }
}

/// A reading of a machine's boot clock.
package struct BootMark: Sendable, Hashable {
  /// One number per boot.
  package var id: UInt64
  /// The time since the boot.
  package var uptime: Duration

  package init(id: UInt64, uptime: Duration) { (self.id, self.uptime) = (id, uptime) }
}
