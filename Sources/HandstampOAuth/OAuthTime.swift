import Foundation
public import HandstampCore

/// Where sign-ins read the time, and what they wait by.
public struct OAuthTime: Sendable {
  public var now: @Sendable () -> UnixTime
  /// Returns after the duration, or throws when its task is cancelled.
  public var sleep: @Sendable (Duration) async throws -> Void

  public init(now: @escaping @Sendable () -> UnixTime, sleep: @escaping @Sendable (Duration) async throws -> Void) {
    self.now = now
    self.sleep = sleep
  }

  /// The device's.
  public static let system = OAuthTime(
    now: { UnixTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) },
    sleep: { try await Task.sleep(for: $0) })
}
