public import Handstamp
import HandstampCore

/// The devices that an account is signed in on.
public protocol DevicesService: Sendable {
  /// All devices, the most recently seen first.
  @concurrent func devices() async throws(SessionError) -> [DeviceSession]

  /// Ends one session. Succeeds if it has already ended.
  @concurrent func end(_ session: SessionID) async throws(SessionError)

  /// Ends all sessions but this one.
  @concurrent func endOthers() async throws(SessionError)

  /// Yields when the list may have changed; may yield too often. Ends with its task.
  func changes() -> AsyncStream<Void>
}

extension DevicesService {
  /// A list without notifications.
  public func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
}

extension ServerDevices: DevicesService {}
