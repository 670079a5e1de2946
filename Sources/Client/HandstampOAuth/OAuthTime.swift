import Foundation
public import HandstampCore

/// The clock of sign-ins.
public struct OAuthTime: Sendable {
  /// Returns the current time.
  public var now: @Sendable () -> UnixTime
  /// Returns after the duration, or throws when its task is cancelled.
  public var sleep: @Sendable (Duration) async throws -> Void

  public init(now: @escaping @Sendable () -> UnixTime, sleep: @escaping @Sendable (Duration) async throws -> Void) {
    self.now = now
    self.sleep = sleep
  }

  /// The device's clock.
  public static let system = OAuthTime(
    now: { UnixTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) },
    sleep: { try await Task.sleep(for: $0) })
}
