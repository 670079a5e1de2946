package import HandstampSupport

/// An audit log as it was read, and the verdict on it.
package struct AuditTrail: Sendable, Hashable {
  /// All lines, oldest first; `nil` for one that is not a record. Do not trust those after a break.
  package private(set) var lines: [AuditRecord?] = []
  package private(set) var verdict = AuditVerdict.intact(newer: 0)
  /// The bytes of an incomplete last line, after a kill or a power cut. Not a sign of tampering: the next entry sets them
  /// aside.
  package private(set) var tornBytes = 0

  /// Checks `bytes`, the complete content of a log, against `head`, which was stored apart from it.
  ///
  /// - Parameter authenticate: returns the code of a line's covered bytes.
  package init(_ bytes: [UInt8], head: AuditHead?, authenticate: ([UInt8]) -> AuditCode) {
    var texts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    tornBytes = texts.popLast()?.count ?? 0
    var chain = Chain()
    for text in texts {
      let line = AuditLine(text)
      let found =
        chain.failure == nil ? chain.add(line, isGenuine: line.map { authenticate($0.covered) == $0.code }, head) : nil
      if let found { chain.failure = found }
      var record = line?.record
      record?.isIntact = chain.failure == nil
      lines.append(record)
    }
    verdict = chain.verdict(head)
    // The beginning is missing.
    if chain.failure == nil, case .broken = verdict { for index in lines.indices { lines[index]?.isIntact = false } }
  }

  /// The state of the chain so far.
  private struct Chain {
    var first: UInt64?
    var last: AuditHead?
    /// The first number that must be present; rotations raise it.
    var kept: UInt64 = 1
    var failure: AuditVerdict?

    /// Adds a line; returns the defect, if any.
    mutating func add(_ line: AuditLine?, isGenuine: Bool?, _ head: AuditHead?) -> AuditVerdict? {
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

    func verdict(_ head: AuditHead?) -> AuditVerdict {
      if let failure { return failure }
      if let first, first > kept { return .broken(at: kept, .missing) }
      let end = last?.sequence ?? 0
      if let head, head.sequence > end { return .cut(after: end, head: head.sequence) }
      return .intact(newer: end - (head?.sequence ?? 0))
    }
  }
}

extension AuditTrail {
  /// The readable records for programs, as `handstamp audit show --json` prints them.
  ///
  /// - Parameter last: how many of the newest ones; `nil` for all.
  package func json(last: Int? = nil) -> JSONText {
    var json = JSONText(reserving: 256 * lines.count)
    json.add("intact", verdict.isIntact)
    json.add("records", lines.suffix(last.map { max(0, $0) } ?? lines.count).compactMap { $0?.json })
    json.add("schemaVersion", 1)
    return json
  }
}

extension AuditRecord {
  fileprivate var json: JSONText {
    var json = JSONText()
    json.add("account", ifPresent: entry.account?.rawValue)
    json.add("action", entry.action.description)
    json.add("address", ifPresent: entry.address)
    json.add("at", entry.at.description)
    json.add("atEpoch", entry.at.seconds)
    json.add("intact", isIntact)
    json.add("method", ifPresent: entry.action.method?.rawValue)
    json.add("outcome", entry.outcome)
    json.add("process", writer.process)
    json.add("program", writer.program)
    json.add("sequence", Int64(clamping: sequence))
    json.add("session", ifPresent: entry.session?.rawValue)
    return json
  }
}
