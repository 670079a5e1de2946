import Foundation
import HandstampSupport

/// The devices of the signed-in account at Handstamp's own server, with live updates.
public struct ServerDevices: Sendable {
  private let backend: ServerBackend
  private let controller: SessionController
  private let shown = Locked<Shown?>(nil)

  private struct Shown: Sendable {
    /// The access token that a reauthentication gave; `nil` if it is the password, for one call.
    var token: AccessToken?
    var password: Secret?
    var session: SessionID
  }

  /// - Parameter controller: the controller of the account's session.
  public init(_ backend: ServerBackend, controller: SessionController) {
    self.backend = backend
    self.controller = controller
  }

  /// Returns the account's devices, most recently seen first.
  ///
  /// - Throws: ``SessionError``, as ``SessionController/token(minimumValidity:)`` does, too.
  @concurrent public func devices() async throws(SessionError) -> [DeviceSession] {
    try await backend.devices(token: try await controller.token())
  }

  /// Ends one of the account's sessions at the server.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `not_found` if the session is unknown or belongs to another account, with
  ///   `reauthentication_required` if this session's sign-in was too long ago: call ``reauthenticate(_:)``, then repeat.
  @concurrent public func end(_ session: SessionID) async throws(SessionError) {
    try await proven { token, password throws(SessionError) in
      try await backend.end(session, password: password, token: token)
    }
  }

  /// Ends the sessions that the server's list shows as one with this one. As ``end(_:)``.
  @concurrent package func endGroup(of session: SessionID) async throws(SessionError) {
    try await proven { token, password throws(SessionError) in
      try await backend.end(session, whole: true, password: password, token: token)
    }
  }

  /// Ends every session of the account except the current one.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)``, as ``end(_:)`` does.
  @concurrent public func endOthers() async throws(SessionError) {
    try await proven { token, password throws(SessionError) in
      try await backend.endOtherSessions(password: password, token: token)
    }
  }

  /// Proves that the user is the account's owner. For a while, ``end(_:)`` and ``endOthers()`` of this value need no other
  /// proof.
  ///
  /// - Parameter proof: a password without the code of an authenticator app that the account has holds for the next call: the lost
  ///   device may have the app.
  /// - Throws: ``SessionError/refused(code:detail:)`` as ``AccountBackend/reauthenticate(_:token:)`` does.
  @concurrent public func reauthenticate(_ proof: Proof) async throws(SessionError) {
    // Also waits until the session is restored.
    _ = try await controller.token()
    let session = session
    var (token, password): (AccessToken?, Secret?)
    do throws(SessionError) {
      token = try await backend.reauthenticate(proof, token: try await controller.token())
    } catch {
      guard case .refused(code: "second_factor_required", _) = error, case .password(let given, code: nil) = proof
      else {
        throw error
      }
      password = given
    }
    // If another session has come into use in the meantime, the token may be of either.
    guard let session, session == self.session else { return }
    let shown = Shown(token: token, password: password, session: session)
    self.shown.withLock { $0 = shown }
  }

  /// The session in use.
  private var session: SessionID? {
    guard case .signedIn(let facts) = controller.state else { return nil }
    return facts.id
  }

  /// Calls `work` with the last proof, if it is still good for the session in use, or else with the session's own token.
  private func proven(_ work: (AccessToken, Secret?) async throws(SessionError) -> Void) async throws(SessionError) {
    let token = try await controller.token()
    if let last = shown.withLock({ $0 }), last.session == session {
      if last.password != nil { shown.withLock { $0 = nil } }
      do throws(SessionError) { return try await work(last.token ?? token, last.password) } catch {
        switch error {
        case .tokenRejected, .refused(code: "reauthentication_required", _): shown.withLock { $0 = nil }
        default: throw error
        }
      }
    }
    try await work(token, nil)
  }

  /// Yields for every event of the account's live feed. If the current session was ended elsewhere, it ends here too.
  public func changes() -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let feed = backend.sessionEvents(for: controller)
    let following = Task {
      await feed.follow { _ in continuation.yield() }
      continuation.finish()
    }
    continuation.onTermination = { _ in following.cancel() }
    return stream
  }
}

extension ServerBackend {
  /// Returns the devices that an account is signed in on, most recently seen first.
  @concurrent public func devices(token: AccessToken) async throws(SessionError) -> [DeviceSession] {
    try await send("GET", "/v1/sessions", token: token)
      .content(DeviceList.self, else: "malformed list of devices").devices
  }

  /// Ends one of the account's sessions. Succeeds if the session has already ended.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` if the session is unknown or belongs to another account.
  @concurrent public func end(_ session: SessionID, token: AccessToken) async throws(SessionError) {
    try await end(session, password: nil, token: token)
  }

  /// - Parameters:
  ///   - isWhole: whether the others end that the list shows as one with it.
  ///   - password: proves for this request that the user is the owner.
  @concurrent func end(
    _ session: SessionID, whole isWhole: Bool = false, password: Secret?, token: AccessToken
  ) async throws(SessionError) {
    var body = Body(proof: password)
    if isWhole {
      body = body ?? Body()
      body?.group = true
    }
    try check(try await send("DELETE", try path(of: session), json: body, token: token))
  }

  @concurrent func endOtherSessions(password: Secret?, token: AccessToken) async throws(SessionError) {
    try check(try await send("POST", "/v1/sessions/end-others", json: Body(proof: password), token: token))
  }
}

/// The response to `GET /v1/sessions`.
package struct DeviceList: Decodable {
  private struct Item: Decodable {
    struct Device: Decodable {
      var name: String
      var platform: String
    }
    var id: String
    var group: String?
    var current: Bool
    var device: Device
    var created_at_ms: Int64
    var last_seen_at_ms: Int64
  }
  private var sessions: [Item]

  package var devices: [DeviceSession] {
    sessions.map { item in
      var device = DeviceSession(
        id: SessionID(item.id), isCurrent: item.current, name: item.device.name, platform: item.device.platform,
        startedAt: UnixTime(milliseconds: item.created_at_ms),
        lastSeenAt: UnixTime(milliseconds: item.last_seen_at_ms))
      device.group = item.group.map { SessionID($0) }
      return device
    }
  }
}
