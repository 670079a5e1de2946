/// One entry as it stands in a log, with its place in the chain.
package struct AuditRecord: Sendable, Hashable {
  /// 1, 2, 3 …, without a gap, across all processes.
  package var sequence: UInt64
  package var entry: AuditEntry
  /// Which program wrote it.
  package var writer: AuditWriter
  /// In a record of a rotation: the first number that is still kept. Smaller ones may be gone.
  package var kept: UInt64?
  /// The code of the record before.
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

/// Which program, in which process.
package struct AuditWriter: Sendable, Hashable {
  package var program: String
  /// The process's number on its machine.
  package var process: Int64

  package init(program: String, process: Int64) {
    self.program = program
    self.process = process
  }
}
