import Foundation
import HandstampCore

/// A folder that goes with its test.
final class Place: Sendable {
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("forum-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }
}

/// A clock that stands still until it is moved.
// Unchecked: all access is under the lock.
final class HandClock: SessionClock, @unchecked Sendable {
  private let lock = NSLock()
  private var time = Duration.seconds(1000)

  func advance(by duration: Duration) { lock.withLock { time += duration } }
  func now() -> Moment {
    let time = uptime()
    return Moment(boot: 1, uptime: time, wall: UnixTime(seconds: 1_800_000_000).advanced(by: time))
  }
  func uptime() -> Duration { lock.withLock { time } }
  @concurrent func sleep(for duration: Duration) async throws { try await Task.sleep(for: .seconds(1_000_000)) }
}
