import Crypto
import HandstampCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An audit log's files, while its lock is held.
///
/// There are two halves. When the newer one is full, its last line says from which number on the log is kept, it takes the
/// place of the older one in one step, and the next line begins a new file. Killed anywhere in between, the log reads the
/// same, and the next writer goes on.
struct AuditFiles {
  let folder: PosixFile
  let names: VaultFiles
  let key: SymmetricKey
  let writer: AuditWriter
  /// The size at which a half is full.
  let half: Int
  /// How far the log is known to have come.
  var known: AuditHead?

  func authenticate(_ bytes: [UInt8]) -> AuditCode {
    AuditCode(Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))) ?? .none
  }

  /// Appends `entries`, and returns when they have reached the disk. Whatever is wrong with what is there is taken down
  /// first.
  mutating func append(_ entries: [AuditEntry], at now: UnixTime) throws(VaultTrouble) -> AuditHead? {
    var file = try open()
    var end = try End(of: file, authenticate: authenticate)
    var notes: [String] = []
    if end.torn > 0 {
      try setAside(end, of: file)
      notes.append("torn_line")
    }
    var last: AuditHead?
    if end.size == 0 {
      last = try folder.open(names.olderAudit, flags: O_RDONLY).flatMap { older throws(VaultTrouble) in
        try End(of: older, authenticate: authenticate).last
      }
    } else {
      last = end.last
      if !end.isGenuine { notes.append("broken_line") }
    }
    if let known, known.sequence > last?.sequence ?? 0 {
      // The gap stays for whoever checks: numbers go on behind the newest that there ever was.
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
    // A new file's name, too; the first line of a file tells that it is new.
    if end.size == 0 { try folder.sync(attempt: "syncing the audit log's folder") }
    if let last { known = last }
    return last
  }

  /// All that there is, oldest first.
  func contents() throws(VaultTrouble) -> [UInt8] {
    var bytes: [UInt8] = []
    for name in [names.olderAudit, names.audit] {
      guard let file = try folder.open(name, flags: O_RDONLY) else { continue }
      bytes += try file.readAll(limit: 2 * half + AuditLine.limit)
    }
    return bytes
  }

  private func open() throws(VaultTrouble) -> PosixFile {
    let file = try folder.openOrCreate(names.audit, flags: O_APPEND)
    guard try file.status().isRegular else { throw .unavailable("there is something else in place of the audit log") }
    return file
  }

  private func line(_ entry: AuditEntry, after last: AuditHead?, kept: UInt64? = nil) -> AuditLine {
    AuditLine(
      AuditRecord(
        sequence: (last?.sequence ?? 0) &+ 1, entry: entry, writer: writer, kept: kept, previous: last?.code ?? .none),
      authenticate: authenticate)
  }

  /// The number that the newer half must begin with: what is kept by the rotation to come. Not what it does begin with: a
  /// cut there would become legal.
  private func firstNumber() throws(VaultTrouble) -> UInt64 {
    guard let older = try folder.open(names.olderAudit, flags: O_RDONLY) else { return 1 }
    return (try End(of: older, authenticate: authenticate).last?.sequence ?? 0) + 1
  }

  private func rotate() throws(VaultTrouble) -> (PosixFile, End) {
    try folder.rename(names.audit, to: names.olderAudit)
    try folder.sync(attempt: "syncing the audit log's folder")
    return (try open(), End())
  }

  /// Nothing of it stays when the disk is full.
  private func write(_ bytes: [UInt8], to file: PosixFile, size: Int) throws(VaultTrouble) {
    if bytes.isEmpty { return }
    do throws(VaultTrouble) {
      try file.append(bytes, attempt: "writing the audit log")
      try file.sync(attempt: "syncing the audit log")
    } catch {
      try? file.truncate(to: size)
      throw error
    }
  }

  /// Takes the start of a line that never came to its end out of the log, into a file of its own.
  private func setAside(_ end: End, of file: PosixFile) throws(VaultTrouble) {
    let torn = try file.read(from: end.size, count: end.torn)
    let aside = try folder.openOrCreate(names.tornAudit)
    try aside.truncate(to: 0)
    try aside.write(torn, attempt: "setting a torn line aside")
    try aside.sync(attempt: "setting a torn line aside")
    try file.truncate(to: end.size)
  }
}

/// The end of one of the files.
private struct End {
  /// The file's size, but for a torn line.
  var size = 0
  /// The bytes of a last line that has no line break.
  var torn = 0
  /// The last genuine record, if it is near the end.
  var last: AuditHead?
  /// Whether the last line is that one.
  var isGenuine = true
  /// Whether it says that the file is full.
  var isRotated = false
  /// Whether the next line may begin here.
  var isClosed = true

  init() {}

  init(of file: PosixFile, authenticate: ([UInt8]) -> AuditCode) throws(VaultTrouble) {
    size = try file.status().size
    let window = try file.read(from: max(0, size - 4 * AuditLine.limit), count: 4 * AuditLine.limit)
    var lines = window.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let rest = lines.popLast()?.count ?? 0
    if rest <= AuditLine.limit {
      torn = rest
      size -= rest
    } else {
      // None of ours: it stays, for all to see.
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
