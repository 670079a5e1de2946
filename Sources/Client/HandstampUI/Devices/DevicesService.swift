public import Handstamp

/// The devices that an account is signed in on.
public protocol DevicesService: Sendable {
  /// All devices, the most recently seen first.
  @concurrent func devices() async throws(SessionError) -> [DeviceSession]

  /// Ends one session. Succeeds if it has already ended.
  @concurrent func end(_ session: SessionID) async throws(SessionError)

  /// Ends the sessions that the list shows as one, see ``DevicesModel/groups``. By default, one after the other.
  @concurrent func end(_ group: [DeviceSession]) async throws(SessionError)

  /// Ends all sessions but this one.
  @concurrent func endOthers() async throws(SessionError)

  /// Proves that the user is the account's owner, after an end of other sessions was refused with
  /// `reauthentication_required`.
  @concurrent func reauthenticate(_ proof: Proof) async throws(SessionError)

  /// Yields when the list may have changed; may yield too often. Ends with its task.
  func changes() -> AsyncStream<Void>
}

extension DevicesService {
  @concurrent public func end(_ group: [DeviceSession]) async throws(SessionError) {
    for device in group { try await end(device.id) }
  }

  /// Of a service that asks for no further proof.
  @concurrent public func reauthenticate(_ proof: Proof) async throws(SessionError) {
    throw .unsupported("reauthentication")
  }

  /// A list without notifications.
  public func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
}

extension ServerDevices: DevicesService {
  /// Ends them in one request, so that one mail tells of it.
  @concurrent public func end(_ group: [DeviceSession]) async throws(SessionError) {
    guard let first = group.first else { return }
    if group.count > 1 { try await endGroup(of: first.id) } else { try await end(first.id) }
  }
}
