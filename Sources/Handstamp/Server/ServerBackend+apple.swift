import Foundation
public import HandstampCore

extension ServerBackend {
  /// Signs in with what Apple's sheet returned. The account is made at the first time.
  ///
  /// - Parameters:
  ///   - nonce: the value whose SHA-256, in hexadecimal, was given to the sheet: from 16 to 256 bytes, good for one sign-in.
  ///   - username: for a new account: Apple tells it the app once, at the first sign-in.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `id_token_invalid` when the server does not take the token, and
  ///   ``SessionError/unsupported(_:)`` when it is not set up for Apple.
  @concurrent public func signInWithApple(
    idToken: Secret, nonce: String, username: String?
  ) async throws(SessionError) -> Grant {
    let body = idToken.withExposed {
      AppleBody(id_token: $0, nonce: nonce, username: username, device: device)
    }
    return try await SignInTurn.take { () async throws(SessionError) in
      let response = try await send("POST", "/v1/sign-in/apple", json: body)
      guard (200..<300).contains(response.status) else { throw SessionError(refusal: response) }
      return try Grant(signIn: response.body)
    }
  }

  @concurrent public func signInWithApple(idToken: Secret, nonce: String) async throws(SessionError) -> Grant {
    try await signInWithApple(idToken: idToken, nonce: nonce, username: nil)
  }
}

private struct AppleBody: Encodable {
  var id_token: String
  var nonce: String
  var username: String?
  var device: ServerBackend.Device
}
