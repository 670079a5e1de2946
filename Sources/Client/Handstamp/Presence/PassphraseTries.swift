import HandstampCore
import HandstampSupport

/// The number of wrong passphrases in a row, and the time of the last one.
///
/// Time is taken from uptime, which users cannot set. After a restart, or if uptime went backwards, the wait starts
/// again.
struct PassphraseTries: Sendable, Hashable {
  var failures: UInt32 = 0
  var last: Moment

  /// Returns the wait between the last attempt and the next.
  ///
  /// | failures | wait |
  /// |---|---|
  /// | up to 4 | none |
  /// | 5 | 30 s |
  /// | 6 | 1 min |
  /// | 12 and more | 1 h |
  static func wait(after failures: UInt32) -> Duration {
    guard failures >= 5 else { return .zero }
    return min(.seconds(30) * (1 << min(failures - 5, 16)), .seconds(3600))
  }

  func remaining(at now: Moment) -> Duration {
    let wait = PassphraseTries.wait(after: failures)
    guard let elapsed = now.elapsed(since: last) else { return wait }
    return max(.zero, wait - elapsed)
  }
}

/// The attempts on disk. Each is written before it is checked, so that a kill cannot undo it.
struct PassphraseTriesFile {
  static let name = "passphrase.tries"
  private static let magic = Array("HSTTRIES".utf8)
  let folder: PosixFile

  /// Loads the count. An unreadable file counts as enough failures for a wait.
  func load(at now: Moment) throws(VaultError) -> PassphraseTries {
    guard let file = try folder.open(PassphraseTriesFile.name, flags: O_RDONLY) else {
      return PassphraseTries(last: now)
    }
    let bytes = try file.readAll(limit: 64)
    // Created by a process that died before it could count.
    if bytes.isEmpty { return PassphraseTries(last: now) }
    let tries: PassphraseTries? = bytes.withUnsafeBytes { bytes in
      guard bytes.starts(with: PassphraseTriesFile.magic) else { return nil }
      var reader = FieldReader(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(8)))
      guard let failures = reader.number(UInt32.self), let rest = reader.take(32), reader.isAtEnd,
        let last = Moment(fields: rest)
      else { return nil }
      return PassphraseTries(failures: failures, last: last)
    }
    return tries ?? PassphraseTries(failures: 5, last: now)
  }

  func store(_ tries: PassphraseTries) throws(VaultError) {
    var writer = FieldWriter()
    writer.raw(PassphraseTriesFile.magic)
    writer.number(tries.failures)
    tries.last.write(to: &writer)
    let file = try folder.openOrCreate(PassphraseTriesFile.name)
    try file.write(writer.bytes, attempt: "counting a try")
    try file.sync(attempt: "counting a try")
  }

  func forget() throws(VaultError) { try folder.remove(PassphraseTriesFile.name) }
}
