#if Programs
import Foundation
import Handstamp
import HandstampAsyncHTTP
import HandstampCore

/// An access token from somewhere else, as a session: it ends when the token does.
enum GivenToken {
  private struct Person: Decodable {
    var id: AccountID
    var name: String
    var is_anonymous: Bool?
    var session_id: SessionID?
  }

  /// Asks the server whose it is.
  static func grant(_ token: Secret, at server: ServerAddress) async throws(SessionError) -> Grant {
    guard token.isToken else {
      throw .refused(code: "invalid_request", detail: "that is no token")
    }
    let header = HeaderField("Authorization", token.withExposed { "Bearer " + $0 })
    let request = TransportRequest(
      method: "GET", url: server.text + "/v1/me", headers: [header], answerLimit: 1 << 20)
    let answer: TransportResponse
    do throws(TransportError) { answer = try await AsyncHTTPTransport.shared.send(request) } catch {
      throw .unreachable(retryAfter: nil)
    }
    switch answer.status {
    case 200: break
    case 401, 403: throw .refused(code: "invalid_token", detail: "the server refuses the token")
    default: throw .unreachable(retryAfter: nil)
    }
    guard let person = try? JSONDecoder().decode(Person.self, from: Data(answer.body)) else {
      throw .invalidAnswer("the server does not say whose the token is")
    }
    return Grant(
      tokens: TokenSet(access: AccessToken(token), life: nil, refresh: nil), session: person.session_id,
      profile: Profile(id: person.id, name: person.name, isAnonymous: person.is_anonymous ?? false),
      revocation: RevocationHandle(token))
  }
}
#endif
