/// An audit log as it was found, and what is to be held of it.
package struct AuditTrail: Sendable, Hashable {
  /// What checking the chain came to.
  package enum Verdict: Sendable, Hashable {
    /// Nothing was changed and nothing is missing; the last `newer` records are newer than the head that was stored, so
    /// a cut among them could not be seen.
    case intact(newer: UInt64)
    /// At the record of that number, for that reason. What is before is intact.
    case broken(at: UInt64, Break)
    /// The log ends behind record `after` (0: it is gone altogether), and had once come to `head`.
    case cut(after: UInt64, head: UInt64)
  }

  package enum Break: String, Sendable, Hashable, Codable {
    /// A line that is no record.
    case unreadable
    /// The record's code does not fit its content: it was changed, or written with another key.
    case altered
    /// Records before this place were taken out.
    case missing
    /// A record that was there before, or out of order.
    case repeated
    /// The record is genuine and follows another one than it says, or is not the one that was stored as the head.
    case replaced
  }

  /// One line of the log.
  package struct Item: Sendable, Hashable {
    /// Nothing when the line is no record.
    package var record: AuditRecord?
    /// Whether the chain holds up to and with this line.
    package var isIntact: Bool
  }

  /// All lines that are there, oldest first; those behind a break are to be taken with care.
  package private(set) var items: [Item] = []
  package private(set) var verdict = Verdict.intact(newer: 0)
  /// The bytes of a last line that never came to its end, after a kill or a power cut. No sign of a change: the next entry
  /// sets them aside.
  package private(set) var tornBytes = 0

  /// Checks `bytes`, all that there is of a log, against `head`, which was stored apart from it.
  ///
  /// - Parameter authenticate: the code of what a line covers.
  package init(_ bytes: [UInt8], head: AuditHead?, authenticate: ([UInt8]) -> AuditCode) {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    tornBytes = lines.popLast()?.count ?? 0
    var chain = Chain()
    for line in lines {
      let line = AuditLine(line)
      let found =
        chain.failure == nil ? chain.add(line, isGenuine: line.map { authenticate($0.covered) == $0.code }, head) : nil
      if let found { chain.failure = found }
      items.append(Item(record: line?.record, isIntact: chain.failure == nil))
    }
    verdict = chain.verdict(head)
  }

  /// What is known of the lines so far.
  private struct Chain {
    var first: UInt64?
    var last: AuditHead?
    /// The first number that must be there; rotations raise it.
    var kept: UInt64 = 1
    var failure: Verdict?

    /// Adds a line; tells what is wrong with it.
    mutating func add(_ line: AuditLine?, isGenuine: Bool?, _ head: AuditHead?) -> Verdict? {
      let expected = (last?.sequence ?? 0) + 1
      guard let line, let isGenuine else { return .broken(at: expected, .unreadable) }
      let record = line.record
      guard isGenuine else { return .broken(at: expected, .altered) }
      if let last {
        if record.sequence > expected { return .broken(at: expected, .missing) }
        if record.sequence < expected { return .broken(at: expected, .repeated) }
        if record.previous != last.code { return .broken(at: expected, .replaced) }
      } else {
        first = record.sequence
        if record.sequence == 1, record.previous != .none { return .broken(at: 1, .replaced) }
      }
      if let head, head.sequence == record.sequence, head.code != line.code {
        return .broken(at: record.sequence, .replaced)
      }
      if let kept = record.kept { self.kept = max(self.kept, kept) }
      last = line.head
      return nil
    }

    func verdict(_ head: AuditHead?) -> Verdict {
      if let failure { return failure }
      if let first, first > kept { return .broken(at: kept, .missing) }
      let end = last?.sequence ?? 0
      if let head, head.sequence > end { return .cut(after: end, head: head.sequence) }
      return .intact(newer: end - (head?.sequence ?? 0))
    }
  }
}
