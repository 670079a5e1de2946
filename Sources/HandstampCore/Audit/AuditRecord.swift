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

/// One entry of a log, with its place in the chain.
package struct AuditRecord: Sendable, Hashable {
  /// 1, 2, 3 …, without a gap, across all processes.
  package var sequence: UInt64
  package var entry: AuditEntry
  /// The program that wrote it.
  package var writer: AuditWriter
  /// In a rotation's record: the first number that is still kept. Smaller ones may be missing.
  package var kept: UInt64?
  /// The code of the preceding record.
  package var previous: AuditCode

  package init(
    sequence: UInt64, entry: AuditEntry, writer: AuditWriter, kept: UInt64? = nil, previous: AuditCode
  ) {
    self.sequence = sequence
    self.entry = entry
    self.writer = writer
    self.kept = kept
    self.previous = previous
  }
}
