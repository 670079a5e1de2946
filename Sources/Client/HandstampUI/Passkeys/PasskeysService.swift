public import Handstamp

/// The passkeys of the signed-in account: a `SessionManager`, or a stand-in for previews and tests.
@MainActor public protocol PasskeysService: AnyObject {
  /// The oldest first.
  func passkeys() async throws(SessionError) -> PasskeyList

  /// - Parameter proof: the token of a ``reauthenticate(_:)``; `nil` for the session's own.
  func addPasskey(proof: AccessToken?, asking ask: PasskeyPrompt) async throws(SessionError) -> PasskeyList

  func removePasskey(_ id: String, proof: AccessToken?) async throws(SessionError) -> PasskeyList

  /// Proves that the user is the account's owner, after a function was refused with `reauthentication_required`.
  func reauthenticate(_ proof: Proof) async throws(SessionError) -> AccessToken
}

extension SessionManager: PasskeysService {}
