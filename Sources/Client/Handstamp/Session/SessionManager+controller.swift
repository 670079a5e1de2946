#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif
public import HandstampCore
import HandstampSupport

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

  /// When the cookie that is the session expires, by this device's clock. `nil` for a session that is no cookie, if none is in use, and for
  /// a cookie that lasts as long as the session. Reading it never waits; views read it again with each change of ``snapshot``.
  public var cookieExpiry: UnixTime? {
    guard isAuthenticated, let scheme = controller.abilities.credential as? any CookieCredential else { return nil }
    return controller.snapshot.withLock { $0.access?.credential }.flatMap { scheme.expiry(of: $0) }
  }

  /// Completes or corrects the profile of the session in use: for one that moved in without a profile, and after the user has changed the
  /// name. Stored with the session when this returns. A refresh that brings a profile replaces it.
  ///
  /// - Parameter profile: with the ID that the server gives the account: a response that names another user is discarded from then on.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `other_account` if the session is known to be another account's;
  ///   ``SessionError/signedOut(_:)`` without a session; ``SessionError/cancelled`` if it ended meanwhile;
  ///   ``SessionError/storage(_:)`` if the vault cannot be written.
  public func update(profile: Profile) async throws(SessionError) {
    try await working { () async throws(SessionError) in try await controller.update(profile) }
  }

  /// Sets the header of a request that you send yourself; see ``SessionController/authorize(_:minimumValidity:)``. Send it only to the
  /// account's own server.
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
