import Foundation
public import HandstampCore
import HandstampSupport

extension ServerBackend {
  /// Signs in with a passkey, which its owner has added in the app, see ``SessionManager/addPasskey(proof:asking:)``, or on the
  /// server's page `/account/security`. On Apple's systems `PasskeySheet` of HandstampUI asks for it.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `passkey_unknown` if no account has the passkey, `passkey_expired` if
  ///   the answer took longer than 10 min; ``SessionError/unsupported(_:)`` if the server has no passkeys; and what `ask` throws.
  @concurrent public func signInWithPasskey(asking ask: @escaping PasskeyPrompt) async throws(SessionError)
    -> TokenResponse
  {
    try await signIn(byPasskey: try await passkeyAnswer(by: ask))
  }

  /// - Parameter answer: a device's answer to ``passkeyAnswer(by:)``.
  @concurrent func signIn(byPasskey answer: String) async throws(SessionError) -> TokenResponse {
    try await SignInTurn.exchange(by: SignInClaim(.passkey), for: "passkey") { key throws(SessionError) in
      let body = Body(device: device, passkey: answer).keyed(key)
      return try await grant(of: send("POST", "/v1/sign-in/passkey", json: body))
    }
  }

  /// Returns the device's answer to the options of a sign-in.
  @concurrent func passkeyAnswer(by ask: PasskeyPrompt) async throws(SessionError) -> String {
    try await answer(to: "/v1/sign-in/passkey/options", by: ask)
  }

  // MARK: Apple

  /// Signs in with the credential of Sign in with Apple. The first sign-in creates the account, with its name and address.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `id_token_invalid` if the server rejects the token, and
  ///   ``SessionError/unsupported(_:)`` if it is not configured for Apple.
  @concurrent public func signInWithApple(_ credential: AppleCredential) async throws(SessionError) -> TokenResponse {
    try await SignInTurn.exchange(by: SignInClaim(.apple), for: "apple") { key throws(SessionError) in
      try await grant(of: send("POST", "/v1/sign-in/apple", json: Body(credential, on: device).keyed(key)))
    }
  }

  // MARK: The passkeys of an account

  @concurrent func passkeys(token: AccessToken) async throws(SessionError) -> PasskeyList {
    try PasskeyList(try await send("GET", "/v1/passkeys", token: token))
  }

  @concurrent func addPasskey(
    asking ask: PasskeyPrompt, token: AccessToken
  ) async throws(SessionError) -> PasskeyList {
    let body = Body(passkey: try await answer(to: "/v1/passkeys/options", by: ask, token: token))
    return try PasskeyList(try await send("POST", "/v1/passkeys", json: body, token: token))
  }

  @concurrent func removePasskey(_ id: String, token: AccessToken) async throws(SessionError) -> PasskeyList {
    guard let path = PercentEncoding.path("v1", "passkeys", id) else { throw .refused(code: "not_found", detail: nil) }
    return try PasskeyList(try await send("DELETE", path, token: token))
  }

  func answer(
    to path: String, json: Body? = nil, by ask: PasskeyPrompt, token: AccessToken? = nil
  ) async throws(SessionError) -> String {
    let options = try await send("POST", path, json: json, token: token)
    try check(options)
    return String(decoding: try await ask(options.body), as: UTF8.self)
  }
}
