import Foundation
import HandstampCore
package import HandstampRegistry

extension RegistryChange {
  /// The clock note that this change stores; `nil` for any other change.
  package var clockNote: ClockNote? { if case .noteClock(let note) = self { note } else { nil } }
}

/// The last clock note, in a file outside the database, so that restoring an older copy of the database does not affect it.
package struct ClockFile {
  package let path: String
  package let instance: InstanceID

  package init(path: String, instance: InstanceID) {
    self.path = path
    self.instance = instance
  }

  /// Returns `nil` if there is no file, or it is invalid or another server's. Then the database's note is used.
  package func read() throws(RegistryOpenError) -> ClockNote? {
    guard let (data, _) = try PrivateFile.read(path, limit: 1 << 12) else { return nil }
    let words = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    let fields = words.dropFirst().compactMap { Int64($0) }
    guard words.first.map({ $0 == instance.rawValue }) == true, fields.count == words.count - 1,
      (2...3).contains(fields.count)
    else { return nil }
    return ClockNote(
      at: UnixTime(milliseconds: fields[1]),
      doubtedSince: fields.count == 3 ? UnixTime(milliseconds: fields[2]) : nil, revision: fields[0])
  }

  package func write(_ note: ClockNote) throws(RegistryOpenError) {
    let since = note.doubtedSince.map { " \($0.milliseconds)" } ?? ""
    try PrivateFile.replace(path, Data("\(instance) \(note.revision) \(note.at.milliseconds)\(since)\n".utf8))
  }
}
