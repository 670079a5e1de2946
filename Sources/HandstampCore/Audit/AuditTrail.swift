/// An audit log as it was read, and the verdict on it.
package struct AuditTrail: Sendable, Hashable {
  /// The result of checking the chain.
  package enum Verdict: Sendable, Hashable {
    /// Complete and unchanged; the last `newer` records are newer than the stored head, so a truncation
    /// among them could not be detected.
    case intact(newer: UInt64)
    /// Broken at the record with that number, for that reason. Everything before is intact.
    case broken(at: UInt64, Break)
    /// The log ends after record `after` (0: it is missing altogether), but had once reached `head`.
    case cut(after: UInt64, head: UInt64)
  }

  package enum Break: String, Sendable, Hashable, Codable {
    /// A line that is not a record.
    case unreadable
    /// The record's code does not match its content: it was changed, or written with another key.
    case altered
    /// Records before this place were removed.
    case missing
    /// A duplicate record, or one out of order.
    case repeated
    /// The record is genuine but follows another one than it states, or is not the one that was stored as the head.
    case replaced
  }

  /// One line of the log.
  package struct Item: Sendable, Hashable {
    /// `nil` if the line is not a record.
    package var record: AuditRecord?
    /// Whether the chain is intact up to and including this line.
    package var isIntact: Bool
  }

  /// All lines, oldest first; do not trust those after a break.
  package private(set) var items: [Item] = []
  package private(set) var verdict = Verdict.intact(newer: 0)
  /// The bytes of an incomplete last line, after a kill or a power cut. Not a sign of tampering: the next entry sets them
  /// aside.
  package private(set) var tornBytes = 0

  /// Checks `bytes`, the complete content of a log, against `head`, which was stored apart from it.
  ///
  /// - Parameter authenticate: returns the code of a line's covered bytes.
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

  /// The state of the chain so far.
  private struct Chain {
    var first: UInt64?
    var last: AuditHead?
    /// The first number that must be present; rotations raise it.
    var kept: UInt64 = 1
    var failure: Verdict?

    /// Adds a line; returns the defect, if any.
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
