/// An entry as it was read from a log, with its place in the chain.
public struct AuditRecord: Sendable, Hashable {
  /// 1, 2, 3 …, without a gap, across all processes.
  public let sequence: UInt64
  public let entry: AuditEntry
  /// Whether the log is complete and unchanged up to and including this entry. Do not rely on others.
  public package(set) var isIntact = true
  package let writer: AuditWriter
  /// In a rotation's record: the first number that is still kept. Smaller ones may be missing.
  package let kept: UInt64?
  /// The code of the preceding record.
  package let previous: AuditCode

  package init(
    sequence: UInt64, entry: AuditEntry, writer: AuditWriter, kept: UInt64? = nil, previous: AuditCode
  ) {
    self.sequence = sequence
    self.entry = entry
    self.writer = writer
    self.kept = kept
    self.previous = previous
  }

  /// The name of the program that wrote it.
  public var program: String { writer.program }
}

/// A program and its process.
package struct AuditWriter: Sendable, Hashable {
  package var program: String
  /// The process ID on its machine.
  package var process: Int64

  package init(program: String, process: Int64) {
    self.program = program
    self.process = process
  }
}

/// The result of checking a log's chain.
@nonexhaustive
public enum AuditVerdict: Sendable, Hashable {
  /// Complete and unchanged; the last `newer` entries are newer than what the vault knows of the log, so that a truncation among
  /// them could not be detected.
  case intact(newer: UInt64)
  /// Broken at the entry with that number, for that reason. Everything before is intact.
  case broken(at: UInt64, Break)
  /// The log ends after entry `after` (0: it is missing altogether), but had once reached `head`.
  case cut(after: UInt64, head: UInt64)

  @nonexhaustive
  public enum Break: String, Sendable, Hashable, Codable {
    /// A line that is not an entry.
    case unreadable
    /// The code does not match the content: it was changed, or written with another key.
    case altered
    /// Entries before this place were removed.
    case missing
    /// A duplicate entry, or one out of order.
    case repeated
    /// The entry is genuine but follows another one than it states, or is not the one that the vault knows.
    case replaced
  }

  public var isIntact: Bool { if case .intact = self { true } else { false } }
}
