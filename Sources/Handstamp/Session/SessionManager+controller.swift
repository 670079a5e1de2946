#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif
public import HandstampCore

/// The functions of ``SessionManager/controller`` that an app calls daily, and its own server.
extension SessionManager {
  /// The backend, if it is Handstamp's own server, for functions of its own, such as
  /// ``ServerBackend/confirmPasswordReset(_:newPassword:)``; `nil` at any other server.
  public nonisolated var server: ServerBackend? { backend as? ServerBackend }

  /// Returns an access token, refreshed if necessary; see ``SessionController/token(minimumValidity:)``.
  ///
  /// - Parameter validity: the minimum remaining lifetime. Default zero: any token that has not expired.
  /// - Throws: ``SessionError``, as ``SessionController/token(minimumValidity:)`` does.
  public nonisolated func token(minimumValidity validity: Duration = .zero) async throws(SessionError) -> AccessToken {
    try await controller.token(minimumValidity: validity)
  }

  /// Sets the `Authorization` header of a request that you send yourself; see
  /// ``SessionController/authorize(_:minimumValidity:)``. Send it only to the account's own server.
  ///
  /// - Parameter validity: the minimum remaining lifetime of the token. Default zero.
  /// - Throws: ``SessionError``, as ``SessionController/authorize(_:minimumValidity:)`` does.
  public nonisolated func authorize(
    _ request: inout URLRequest, minimumValidity validity: Duration = .zero
  ) async throws(SessionError) {
    try await controller.authorize(&request, minimumValidity: validity)
  }

  /// Retries immediately what waits for a pause to end: revocations, a refresh, a vault that could not be read. For when the
  /// network returns; see ``SessionController/retryPendingWork()``.
  public nonisolated func retryPendingWork() async { await controller.retryPendingWork() }

  /// Records that the session was used, which restarts the idle limit; see ``SessionController/updateSessionActivity()``.
  /// Cheap enough for every touch event, from any thread.
  public nonisolated func updateSessionActivity() { controller.updateSessionActivity() }
}
