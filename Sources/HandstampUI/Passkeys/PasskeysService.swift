public import Handstamp
import HandstampCore

/// The passkeys of the signed-in account: a `SessionManager`, or a stand-in for previews and tests.
@MainActor public protocol PasskeysService: AnyObject {
  /// The oldest first.
  func passkeys() async throws(SessionError) -> PasskeyList

  /// - Parameter proof: the token of a ``reauthenticate(password:code:)``; `nil` for the session's own.
  func addPasskey(
    proof: AccessToken?, asking ask: @concurrent @Sendable (_ options: [UInt8]) async throws(SessionError) -> [UInt8]
  ) async throws(SessionError) -> PasskeyList

  func removePasskey(_ id: String, proof: AccessToken?) async throws(SessionError) -> PasskeyList

  /// Proves that the user is the account's owner, after a function was refused with `reauthentication_required`.
  ///
  /// - Parameter code: the code of an authenticator app, after a refusal with `second_factor_required`.
  func reauthenticate(password: Secret, code: Secret?) async throws(SessionError) -> AccessToken

  /// The same with a passkey, for an account without a password.
  func reauthenticate(
    asking ask: @concurrent @Sendable (_ options: [UInt8]) async throws(SessionError) -> [UInt8]
  ) async throws(SessionError) -> AccessToken
}

extension SessionManager: PasskeysService {
  public func reauthenticate(password: Secret, code: Secret?) async throws(SessionError) -> AccessToken {
    try await passkeyServer.reauthenticate(password: password, code: code, token: try await controller.token())
  }

  public func reauthenticate(
    asking ask: @concurrent @Sendable (_ options: [UInt8]) async throws(SessionError) -> [UInt8]
  ) async throws(SessionError) -> AccessToken {
    try await passkeyServer.reauthenticate(withPasskey: ask, token: try await controller.token())
  }
}
