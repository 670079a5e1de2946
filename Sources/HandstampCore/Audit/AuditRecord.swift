/// One entry as it stands in a log, with its place in the chain.
public struct AuditRecord: Sendable, Hashable {
  /// 1, 2, 3 …, without a gap, across all processes.
  public var sequence: UInt64
  public var entry: AuditEntry
  /// Which program wrote it.
  public var writer: AuditWriter
  /// In a record of a rotation: the first number that is still kept. Smaller ones may be gone.
  public var kept: UInt64?
  /// The code of the record before.
  public var previous: AuditCode

  public init(
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
public struct AuditWriter: Sendable, Hashable {
  public var program: String
  /// The process's number on its machine.
  public var process: Int64

  public init(program: String, process: Int64) {
    self.program = program
    self.process = process
  }
}
