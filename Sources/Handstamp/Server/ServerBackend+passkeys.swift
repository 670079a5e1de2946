import Foundation
public import HandstampCore

extension ServerBackend {
  /// Signs in with a passkey, which its owner has added on the server's page `/account/security`. On Apple's systems
  /// `PasskeySheet` of HandstampUI asks for it.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `passkey_unknown` if no account has the passkey, `passkey_expired` if
  ///   the answer took longer than 10 min; ``SessionError/unsupported(_:)`` if the server has no passkeys; and what `ask` throws.
  @concurrent public func signInWithPasskey(
    asking ask: @concurrent @Sendable (_ options: [UInt8]) async throws(SessionError) -> [UInt8]
  ) async throws(SessionError) -> TokenResponse {
    let body = PasskeySignInBody(passkey: try await answer(by: ask), device: device)
    return try await SignInTurn.exchange(for: "passkey") { key throws(SessionError) in
      var body = body
      body.rotation_key = key.wireText.withExposed { $0 }
      let response = try await send("POST", "/v1/sign-in/passkey", json: body)
      guard (200..<300).contains(response.status) else { throw SessionError(refusal: response) }
      return try TokenResponse(signIn: response.body)
    }
  }

  /// Proves with a passkey that the user is the account's owner, as ``reauthenticate(password:token:)`` does.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `passkey_refused` if it is another account's, and what `ask` throws.
  @concurrent public func reauthenticate(
    withPasskey ask: @concurrent @Sendable (_ options: [UInt8]) async throws(SessionError) -> [UInt8],
    token: AccessToken
  ) async throws(SessionError) -> AccessToken {
    let body = PasskeySignInBody(passkey: try await answer(by: ask))
    return try AccessToken(reauthentication: try await send("POST", "/v1/reauthenticate", json: body, token: token))
  }

  private func answer(
    by ask: @concurrent (_ options: [UInt8]) async throws(SessionError) -> [UInt8]
  ) async throws(SessionError) -> String {
    let options = try await send("POST", "/v1/sign-in/passkey/options")
    guard (200..<300).contains(options.status) else { throw SessionError(refusal: options) }
    return String(decoding: try await ask(options.body), as: UTF8.self)
  }
}

private struct PasskeySignInBody: Encodable {
  var passkey: String
  var device: ServerBackend.Device?
  var rotation_key: String?
}
