#if Command
import Foundation
import Handstamp

/// A session made from an access token that was obtained elsewhere. It ends when the token expires.
enum GivenToken {
  private struct Person: Decodable {
    var id: AccountID
    var name: String
    var is_anonymous: Bool?
    var session_id: SessionID?
  }

  /// Looks up the token's account at the server.
  static func grant(
    _ token: Secret, at server: ServerAddress, over transport: any Transport
  ) async throws(SessionError) -> TokenResponse {
    guard token.isToken else {
      throw .refused(code: "invalid_request", detail: "not a valid token")
    }
    let request = TransportRequest(
      method: "GET", url: server.text + "/v1/me", headers: [.bearer(token)], maximumResponseSize: 1 << 20)
    let response: TransportResponse
    do throws(TransportError) { response = try await transport.send(request) } catch {
      throw SessionError(error)
    }
    switch response.status {
    case 200: break
    case 401, 403: throw .refused(code: "invalid_token", detail: "the server rejected the token")
    default: throw .requestFailed(.server(.init(status: response.status)))
    }
    guard let person = try? JSONDecoder().decode(Person.self, from: Data(response.body)) else {
      throw .invalidResponse("the response does not name the token's account")
    }
    return TokenResponse(
      tokens: TokenSet(access: AccessToken(token), expiresIn: nil, refresh: nil), sessionID: person.session_id,
      profile: Profile(id: person.id, name: person.name, isAnonymous: person.is_anonymous ?? false),
      revocation: RevocationHandle(token))
  }
}
#endif
