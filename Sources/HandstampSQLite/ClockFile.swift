#if SQLite
import Foundation
import HandstampCore
import HandstampRegistry

/// The last note of the clock, in a file outside the database, which an older copy of the database leaves alone.
struct ClockFile {
  let path: String
  let instance: InstanceID

  /// `nil` where there is no file, or not one of this server that makes sense: the database's note counts then.
  func read() throws(RegistryOpenError) -> ClockNote? {
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

  func write(_ note: ClockNote) throws(RegistryOpenError) {
    let since = note.doubtedSince.map { " \($0.milliseconds)" } ?? ""
    try PrivateFile.replace(path, Data("\(instance) \(note.revision) \(note.at.milliseconds)\(since)\n".utf8))
  }
}
#endif
