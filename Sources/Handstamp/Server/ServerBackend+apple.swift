import Foundation
public import HandstampCore

extension ServerBackend {
  /// Signs in with the credential of Sign in with Apple. The first sign-in creates the account.
  ///
  /// - Parameters:
  ///   - idToken: the identity token that Apple issued.
  ///   - nonce: the value whose SHA-256, in hexadecimal, was passed to Apple's request: 16 to 256 bytes, for one sign-in only.
  ///   - username: the name of a new account: Apple passes it to the app only at the first sign-in.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `id_token_invalid` if the server rejects the token, and
  ///   ``SessionError/unsupported(_:)`` if it is not configured for Apple.
  @concurrent public func signInWithApple(
    idToken: Secret, nonce: String, username: String?
  ) async throws(SessionError) -> TokenResponse {
    let body = idToken.withExposed { Body(device: device, username: username, id_token: $0, nonce: nonce) }
    return try await SignInTurn.exchange(by: SignInClaim(.apple), for: "apple") { key throws(SessionError) in
      try await grant(of: send("POST", "/v1/sign-in/apple", json: body.keyed(key)))
    }
  }

  @concurrent public func signInWithApple(idToken: Secret, nonce: String) async throws(SessionError) -> TokenResponse {
    try await signInWithApple(idToken: idToken, nonce: nonce, username: nil)
  }

  /// Proves with a new credential of Sign in with Apple that the user is the account's owner, as
  /// ``reauthenticate(password:code:token:)`` does.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `id_token_invalid` if it is another user's.
  @concurrent public func reauthenticate(
    withApple idToken: Secret, nonce: String, token: AccessToken
  ) async throws(SessionError) -> AccessToken {
    let body = idToken.withExposed { Body(id_token: $0, nonce: nonce) }
    return try AccessToken(
      reauthentication: try await send("POST", "/v1/reauthenticate", json: body, token: token))
  }
}
