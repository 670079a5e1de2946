import Crypto
import Foundation
import HandstampCore
import HandstampSupport

extension ServerBackend {
  /// Exchanges a refresh token of the system that the users come from for a session here (RFC 8693). The same token gets the same session
  /// until that is used.
  ///
  /// - Throws: ``SessionError/sessionEnded(_:)`` if the token is worth nothing any more; ``SessionError/unsupported(_:)`` if the server
  ///   takes over no sessions. After any other error the token is as good as before.
  @concurrent package func signIn(former token: Secret) async throws(SessionError) -> TokenResponse {
    let digest = token.withExposedBytes { Base64URL.encode(Array(SHA256.hash(data: Array($0)))) }
    return try await SignInTurn.exchange(by: SignInClaim(.moved), for: "former \(digest)") { key throws(SessionError) in
      let form = [UInt8](form: [
        ("grant_type", Secret("urn:ietf:params:oauth:grant-type:token-exchange")), ("subject_token", token),
        ("subject_token_type", Secret("urn:ietf:params:oauth:token-type:refresh_token")),
        ("rotation_key", key.wireText), ("device_id", Secret(device.id.rawValue)),
        ("device_name", Secret(device.name)), ("device_platform", Secret(device.platform)),
      ])
      let response: TransportResponse
      do throws(TransportError) {
        response = try await send("POST", "/oauth/token", type: ServerBackend.formType, body: form)
      } catch { throw SessionError(error) }
      guard response.status != 200 else { return try TokenResponse(signIn: response.body) }
      let refusal = try? JSONDecoder().decode(TokenRefusal.self, from: Data(response.body))
      if [400, 401].contains(response.status), refusal?.error == "invalid_grant",
        refusal?.error_code == "former_session_ended"
      {
        throw .sessionEnded(EndReason(reported: refusal?.reason, at: refusal?.provider))
      }
      if refusal?.error == "unsupported_grant_type" { throw .unsupported("sessions of a former system") }
      let server = RequestError.ServerResponse(
        response, error: refusal?.error, detail: refusal?.error_description)
      throw .requestFailed(RequestError(server), retryAfter: response.retryDelay())
    }
  }
}
