import Foundation
package import HandstampCore
import HandstampSupport

/// The end of a session, as recorded in the log of ended sessions.
package struct LoggedEnd: Sendable, Hashable {
  package let session: SessionBytes
  package let end: SessionEnd
  /// When the session would have expired, after which the entry is no longer needed. `nil` if never.
  package let expiry: UnixTime?

  package init(session: SessionBytes, end: SessionEnd, expiry: UnixTime?) {
    self.session = session
    self.end = end
    self.expiry = expiry
  }
}

extension LoggedEnd {
  /// Whether an older copy of the database may have the session as live: it does not if the session had expired when it ended.
  package var isNeeded: Bool { expiry.map { $0 > end.at } ?? true }

  /// The changes and the event that end the session again in an older copy of the database. Its client is told once more.
  ///
  /// - Parameter row: `nil` if it cannot be read; it ends nevertheless.
  package func again(of account: AccountID, _ row: SessionRow?) -> (changes: [RegistryChange], event: RegistryEvent) {
    let logout = row.map { LogoutJob.changes(for: $0, now: max(end.at, .systemTime)) } ?? []
    let event = RegistryEvent(
      kind: .sessionRevoked, account: account, session: session.id, reason: end.reason, at: end.at)
    return ([.endSession(session.id, end)] + logout, event)
  }

  /// The entry as one line, including the newline.
  var line: String {
    "\(session.id) \(end.at.milliseconds) \(expiry.map { String($0.milliseconds) } ?? "-") \(end.reason.rawValue)\n"
  }

  /// Parses a ``line`` without the newline. Returns `nil` for anything else.
  init?(line: Substring) {
    let fields = line.split(separator: " ", omittingEmptySubsequences: false)
    guard fields.count == 4, let session = SessionBytes(SessionID(String(fields[0]))), let at = Int64(fields[1]),
      !fields[3].isEmpty
    else { return nil }
    // The reason is from a newer version, or damaged; the session has ended all the same.
    let reason = EndReason(rawValue: String(fields[3])) ?? .rejected
    switch (fields[2], Int64(fields[2])) {
    case ("-", _): expiry = nil
    case (_, let milliseconds?): expiry = UnixTime(milliseconds: milliseconds)
    case (_, nil): return nil
    }
    self.session = session
    end = SessionEnd(at: UnixTime(milliseconds: at), reason: reason)
  }
}

extension Removal {
  private static let mark = "removal "

  /// The entry as one line, including the newline.
  var line: String { "\(Removal.mark)\(PayloadCoding.text(self))\n" }

  /// Parses a ``line`` without the newline. Returns `nil` for anything else.
  init?(line: Substring) {
    guard line.hasPrefix(Removal.mark),
      let removal = PayloadCoding.value(Removal.self, String(line.dropFirst(Removal.mark.count)))
    else { return nil }
    self = removal
  }
}

/// The log of ended sessions and other removals, in a file outside the database, so that restoring an older copy of the database
/// brings back nothing that was signed out or taken away since.
///
/// A text file: a line with the instance, then one line per entry. Entries are only appended; a rewrite drops those that are no
/// longer needed. Several processes may append to one log.
package final class EndLog: Sendable {
  /// The contents of a log.
  package struct Contents {
    package var ends: [LoggedEnd] = []
    package var removals: [Removal] = []
    /// Invalid lines, which were truncated or changed.
    package var unreadable: [Substring] = []
    package init() {}
  }

  package let path: String
  private let title: String
  private let state = Locked(State())

  private struct State {
    /// The entries that could not be written yet.
    var waiting: [String] = []
    /// The size, in bytes, above which the log is rewritten.
    var limit = EndLog.least
  }

  /// Minimum size for a rewrite, in bytes.
  private static let least = 64 << 10

  package init(path: String, instance: InstanceID) {
    self.path = path
    title = "handstamp-ends 1 \(instance)\n"
  }

  /// Reads the log, and creates it if it is missing.
  package func read() throws(RegistryOpenError) -> Contents {
    _ = try PrivateFile.create(path, Data(title.utf8))
    guard let (data, _) = try PrivateFile.read(path, limit: .max) else { throw .unavailable("\(path) disappeared") }
    return try contents(of: data)
  }

  /// Durably appends entries, including those that could not be written before. May be called concurrently.
  package func append(_ ends: [LoggedEnd], _ removals: [Removal] = []) throws(RegistryOpenError) {
    let all = state.withLock { state in
      defer { state.waiting = [] }
      // Previous entries of a deleted account have its address.
      if removals.contains(where: \.erases) { state.limit = 0 }
      return state.waiting + ends.map(\.line) + removals.map(\.line)
    }
    guard !all.isEmpty else { return }
    do throws(RegistryOpenError) { try write(all) } catch {
      state.withLock { $0.waiting = all + $0.waiting }
      throw error
    }
  }

  private func write(_ lines: [String]) throws(RegistryOpenError) {
    try withLog { file throws(RegistryOpenError) in
      // A line truncated by a crash must not swallow the next one.
      let size = lseek(file, 0, SEEK_END)
      var last: UInt8 = 0
      let isCut = size > 0 && pread(file, &last, 1, size - 1) == 1 && last != UInt8(ascii: "\n")
      // An empty log was created by hand, or truncated by log rotation.
      let start = size == 0 ? title : isCut ? "\n" : ""
      try PrivateFile.append(Data((start + lines.joined()).utf8), to: file, path)
    }
  }

  /// Rewrites a log that has doubled in size since the last rewrite, without the entries that are no longer needed at `now`:
  /// of sessions that would have expired, and removals that are old or have a successor.
  package func compact(now: UnixTime) throws(RegistryOpenError) {
    let size = PrivateFile.size(path) ?? 0
    guard size > state.withLock({ $0.limit }) else { return }
    try withLog { file throws(RegistryOpenError) in
      guard let (data, _) = try PrivateFile.read(path, limit: .max) else { return }
      let found = try contents(of: data)
      let kept = found.ends.filter { $0.expiry.map { $0 > now } ?? true }.map(\.line)
      let removals = found.removals.latest.filter { $0.counts(at: now) }.map(\.line)
      let lines = found.unreadable.map { $0 + "\n" } + removals + kept
      try PrivateFile.replace(path, Data((title + lines.joined()).utf8))
    }
    let left = PrivateFile.size(path) ?? 0
    state.withLock { $0.limit = max(EndLog.least, 2 * left) }
  }

  private func contents(of data: Data) throws(RegistryOpenError) -> Contents {
    let text = String(decoding: data, as: UTF8.self)
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    // Text after the last newline was truncated by a crash, and never acknowledged.
    lines.removeLast()
    if lines.first.map({ $0 + "\n" == title }) == true {
      lines.removeFirst()
    } else {
      // A log without its first line may have been edited by hand; one with another first line belongs to another server.
      guard lines.first.map({ LoggedEnd(line: $0) != nil || Removal(line: $0) != nil }) ?? data.isEmpty else {
        throw .endLogForeign(path: path)
      }
    }
    var contents = Contents()
    for line in lines where !line.isEmpty {
      if let end = LoggedEnd(line: line) {
        contents.ends.append(end)
      } else if let removal = Removal(line: line) {
        contents.removals.append(removal)
      } else {
        contents.unreadable.append(line)
      }
    }
    return contents
  }

  /// Runs `body` with the log open, while no other process writes to it or replaces it.
  private func withLog(_ body: (Int32) throws(RegistryOpenError) -> Void) throws(RegistryOpenError) {
    while true {
      guard PrivateFile.exists(path) else {
        _ = try PrivateFile.create(path, Data(title.utf8))
        continue
      }
      // A process suspended during a write must not block the writes of the others.
      let isCurrent = try PrivateFile.locked(path, within: .seconds(5)) { file throws(RegistryOpenError) in
        // Another process may have replaced it between opening and locking.
        guard FileIdentity(descriptor: file) == FileIdentity(path: path) else { return false }
        try body(file)
        return true
      }
      if isCurrent { return }
    }
  }
}
