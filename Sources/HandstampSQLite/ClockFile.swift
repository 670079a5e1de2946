#if SQLite
import Foundation
import HandstampCore
import HandstampRegistry

/// The last note of the clock, in a file outside the database, which an older copy of the database leaves alone.
struct ClockFile {
  let path: String

  /// `nil` where there is none, or none that makes sense: the database's note counts then.
  func read() throws(RegistryOpenError) -> ClockNote? {
    guard let (data, _) = try PrivateFile.read(path, limit: 1 << 12) else { return nil }
    let fields = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace)
      .compactMap { Int64($0) }
    guard fields.count == 2 || fields.count == 3 else { return nil }
    return ClockNote(
      at: UnixTime(milliseconds: fields[1]),
      doubtedSince: fields.count == 3 ? UnixTime(milliseconds: fields[2]) : nil, revision: fields[0])
  }

  func write(_ note: ClockNote) throws(RegistryOpenError) {
    let since = note.doubtedSince.map { " \($0.milliseconds)" } ?? ""
    try PrivateFile.replace(path, Data("\(note.revision) \(note.at.milliseconds)\(since)\n".utf8))
  }
}
#endif
