import Crypto
import HandstampCore
import HandstampSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The files of an audit log, accessed while holding its lock.
///
/// The log has two halves. When the newer one is full, its last line states the first number that is kept, it replaces
/// the older half atomically, and the next line starts a new file. After a kill at any point in between, the log reads
/// the same and the next writer continues.
struct AuditFiles {
  let folder: PosixFile
  let names: VaultFiles
  let key: SymmetricKey
  let writer: AuditWriter
  /// The size, in bytes, at which a half is full.
  let half: Int
  /// The newest record known to have been written.
  var known: AuditHead?

  func authenticate(_ bytes: [UInt8]) -> AuditCode {
    AuditCode(Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))) ?? .none
  }

  /// Appends `entries`, preceded by a note of every defect found. They are durable on return.
  mutating func append(_ entries: [AuditEntry], at now: UnixTime) throws(VaultError) -> AuditHead? {
    var file = try open()
    var end = try End(of: file, authenticate: authenticate)
    var notes: [String] = []
    if end.torn > 0 {
      try setAside(end, of: file)
      notes.append("torn_line")
    }
    var last: AuditHead?
    if end.size == 0 {
      last = try folder.open(names.olderAudit, flags: O_RDONLY).flatMap { older throws(VaultError) in
        try End(of: older, authenticate: authenticate).last
      }
    } else {
      last = end.last
      if !end.isGenuine { notes.append("broken_line") }
    }
    if let known, known.sequence > last?.sequence ?? 0 {
      // The gap stays visible to a check: numbering continues after the highest number ever used.
      last = known
      notes.append("cut")
    }
    if end.isRotated { (file, end) = try rotate() }
    var pending: [UInt8] = end.isClosed ? [] : [UInt8(ascii: "\n")]
    for entry in notes.map({ AuditEntry(action: .log, session: nil, account: nil, at: now, outcome: $0) }) + entries {
      var line = line(entry, after: last)
      if end.size + pending.count + line.bytes.count + AuditLine.limit / 2 > half, end.size + pending.count > 0 {
        let rotation = try self.line(
          AuditEntry(action: .log, session: nil, account: nil, at: now, outcome: "rotated"), after: last,
          kept: firstNumber())
        try write(pending + rotation.bytes, to: file, size: end.size)
        (file, end) = try rotate()
        (last, pending) = (rotation.head, [])
        line = self.line(entry, after: last)
      }
      pending += line.bytes
      last = line.head
    }
    try write(pending, to: file, size: end.size)
    // Makes the name of a new file durable, too; a file is new if its first line was just written.
    if end.size == 0 { try folder.sync(attempt: "syncing the audit log's folder") }
    if let last { known = last }
    return last
  }

  /// Returns the whole log, oldest line first.
  func contents() throws(VaultError) -> [UInt8] {
    var bytes: [UInt8] = []
    for name in [names.olderAudit, names.audit] {
      guard let file = try folder.open(name, flags: O_RDONLY) else { continue }
      bytes += try file.readAll(limit: 2 * half + AuditLine.limit)
    }
    return bytes
  }

  private func open() throws(VaultError) -> PosixFile {
    let file = try folder.openOrCreate(names.audit, flags: O_APPEND)
    guard try file.status().isRegular else { throw .unavailable("the audit log is not a regular file") }
    return file
  }

  private func line(_ entry: AuditEntry, after last: AuditHead?, kept: UInt64? = nil) -> AuditLine {
    AuditLine(
      AuditRecord(
        sequence: (last?.sequence ?? 0) &+ 1, entry: entry, writer: writer, kept: kept, previous: last?.code ?? .none),
      authenticate: authenticate)
  }

  /// The first number to keep in the next rotation. Derived from the older half rather than read from the newer one,
  /// where a missing beginning would otherwise be accepted.
  private func firstNumber() throws(VaultError) -> UInt64 {
    guard let older = try folder.open(names.olderAudit, flags: O_RDONLY) else { return 1 }
    return (try End(of: older, authenticate: authenticate).last?.sequence ?? 0) + 1
  }

  private func rotate() throws(VaultError) -> (PosixFile, End) {
    try folder.rename(names.audit, to: names.olderAudit)
    try folder.sync(attempt: "syncing the audit log's folder")
    return (try open(), End())
  }

  /// Appends `bytes`, all or none: a failed write is truncated.
  private func write(_ bytes: [UInt8], to file: PosixFile, size: Int) throws(VaultError) {
    if bytes.isEmpty { return }
    do throws(VaultError) {
      try file.write(bytes, at: nil, attempt: "writing the audit log")
      try file.sync(attempt: "syncing the audit log")
    } catch {
      try? file.truncate(to: size)
      throw error
    }
  }

  /// Moves an unfinished last line out of the log into a file of its own.
  private func setAside(_ end: End, of file: PosixFile) throws(VaultError) {
    let torn = try file.read(from: end.size, count: end.torn)
    let aside = try folder.openOrCreate(names.tornAudit)
    try aside.truncate(to: 0)
    try aside.write(torn, attempt: "setting a torn line aside")
    try aside.sync(attempt: "setting a torn line aside")
    try file.truncate(to: end.size)
  }
}

/// The end of a log file.
private struct End {
  /// The file's size without a torn line.
  var size = 0
  /// The number of bytes after the last line break.
  var torn = 0
  /// The last genuine record, if it is near the end.
  var last: AuditHead?
  /// Whether the last line is genuine.
  var isGenuine = true
  /// Whether the last line closes a full file.
  var isRotated = false
  /// Whether the file ends with a line break, so that a line may follow.
  var isClosed = true

  init() {}

  init(of file: PosixFile, authenticate: ([UInt8]) -> AuditCode) throws(VaultError) {
    size = try file.status().size
    let window = try file.read(from: max(0, size - 4 * AuditLine.limit), count: 4 * AuditLine.limit)
    var lines = window.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let rest = lines.popLast()?.count ?? 0
    if rest <= AuditLine.limit {
      torn = rest
      size -= rest
    } else {
      // Too long for one of our lines: it stays as evidence.
      isClosed = false
      isGenuine = false
    }
    for (distance, line) in lines.reversed().enumerated() {
      guard let line = AuditLine(line), authenticate(line.covered) == line.code else {
        isGenuine = false
        continue
      }
      last = line.head
      isRotated = distance == 0 && isClosed && line.record.kept != nil
      break
    }
    if size > 0, last == nil { isGenuine = false }
  }
}
