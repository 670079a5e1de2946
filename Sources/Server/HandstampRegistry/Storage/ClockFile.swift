import Foundation
import HandstampCore
import HandstampSupport

extension RegistryChange {
  /// The clock note that this change stores; `nil` for any other change.
  package var clockNote: ClockNote? { if case .noteClock(let note) = self { note } else { nil } }
}

/// The last clock note, in a file outside the database, so that restoring an older copy of the database does not affect it: a line with
/// the instance, one with the note, and one with the boot clock of this machine.
package struct ClockFile {
  private static let mark = "handstamp-clock "

  package let path: String
  private let title: String

  package init(path: String, instance: InstanceID) {
    self.path = path
    title = "\(ClockFile.mark)1 \(instance)"
  }

  /// Returns `nil` if there is no file, or it is invalid or another server's. Then the database's note is used.
  package func read() throws(RegistryOpenError) -> ClockNote? {
    guard let (data, _) = try PrivateFile.read(path, limit: 1 << 12) else { return nil }
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
    guard let first = lines.first else { return nil }
    guard !first.hasPrefix(ClockFile.mark) || first.hasPrefix(ClockFile.mark + "1 ") else {
      throw .refused("another version wrote \(path)", hint: "run that version, or move the file away")
    }
    guard first == title else { return nil }
    let words = lines.dropFirst().first?.split(separator: " ") ?? []
    let fields = words.compactMap { Int64($0) }
    guard fields.count == words.count, (2...3).contains(fields.count) else { return nil }
    var note = ClockNote(
      at: UnixTime(milliseconds: fields[1]),
      doubtedSince: fields.count == 3 ? UnixTime(milliseconds: fields[2]) : nil, revision: fields[0])
    let mark = lines.dropFirst(2).first?.split(separator: " ") ?? []
    if mark.count == 3, mark[0] == "boot", let id = UInt64(mark[1]), let uptime = Int64(mark[2]) {
      note.boot = BootMark(id: id, uptime: .milliseconds(uptime))
    }
    return note
  }

  package func write(_ note: ClockNote) throws(RegistryOpenError) {
    let since = note.doubtedSince.map { " \($0.milliseconds)" } ?? ""
    let mark = note.boot.map { "boot \($0.id) \($0.uptime.wholeMilliseconds)\n" } ?? ""
    try PrivateFile.replace(path, Data("\(title)\n\(note.revision) \(note.at.milliseconds)\(since)\n\(mark)".utf8))
  }
}
