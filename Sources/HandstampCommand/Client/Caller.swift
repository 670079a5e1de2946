#if Programs
import Foundation
import Handstamp
import HandstampAsyncHTTP
import HandstampCore

/// A caller of the API: the session, or the token that `HANDSTAMP_TOKEN` holds.
enum Caller: Sendable {
  case session(Client)
  /// The last is `nil` where the account is not signed in to by OAuth.
  case environment(AccessToken, ServerAddress, OAuthAccess?)

  /// - Parameter minimumAge: how young a token cannot be replaced.
  static func current(
    _ options: AccountOptions, minimumAge: Duration = .seconds(5)
  ) async throws(Refusal) -> Caller {
    guard let token = EnvironmentToken.current else {
      return .session(try await Client.chosen(options, minimumAge: minimumAge))
    }
    if options.account != nil { try EnvironmentToken.refuse(to: "--account") }
    let home = try Home.current()
    let book = try await AccountBook(of: home)
    // The variable names the server as well: the token may be no other's.
    let last = try home.settings().server
    let account = if let named = options.named { try book.account(named) } else { try book.usual() }
    guard let server = account?.server ?? last else { throw .noServer }
    guard let account, let record = try home.oauth(of: account.id) else { return .environment(token, server, nil) }
    return .environment(token, server, OAuthAccess(record, home: home, account: account.id))
  }

  var server: ServerAddress {
    switch self {
    case .session(let client): client.server
    case .environment(_, let server, _): server
    }
  }

  /// Sends a request with the token, to the account's own origin alone.
  func respond(to request: TransportRequest) async throws(Refusal) -> TransportResponse {
    switch self {
    case .session(let client):
      do throws(APIError) {
        let response = try await WaitLine.shared.during(server.text) { () async throws(APIError) in
          try await client.api.respond(to: request)
        }
        await client.settle()
        return response
      } catch {
        if error == .unauthorized(.tokenRefused), let reason = await client.reasonOfEnd() {
          throw Refusal(SessionError.rejected(reason), account: client.account)
        }
        if case .unauthorized(let error) = error { throw await client.refusal(error) }
        // Without a token nothing was sent: it is the refresh that failed.
        if case .unreachable = error, let refusal = await client.refusedRefresh() { throw refusal }
        throw Refusal(error, server: client.server).about(client.account)
      }
    case .environment(let token, let server, _):
      guard server.covers(request.url) else { throw Refusal(.invalidRequest("another origin"), server: server) }
      var request = request
      request.headers.append(HeaderField("Authorization", token.secret.withExposed { "Bearer " + $0 }))
      let response: TransportResponse
      do throws(TransportError) {
        response = try await WaitLine.shared.during(server.text) { () async throws(TransportError) in
          try await AsyncHTTPTransport.shared.send(request)
        }
      } catch {
        throw Refusal(.unreachable(error), server: server)
      }
      guard response.status != 401 else { throw EnvironmentToken.refused }
      return response
    }
  }

  /// Sends a request to the API of Handstamp's own server and reads the answer.
  ///
  /// - Parameter what: what the call is for, to tell what a foreign server does not offer. Such a one is sent nothing.
  func call<Answer: Decodable>(
    _ method: String, _ path: String, as type: Answer.Type, for what: String
  ) async throws(Refusal) -> Answer {
    if let foreign = try await foreign() { throw foreign.lacks(what, at: server) }
    let response = try await respond(
      to: TransportRequest(
        method: method, url: server.text + path, headers: [HeaderField("Accept", "application/json")]))
    guard (200..<300).contains(response.status) else {
      let problem = try? JSONDecoder().decode(Problem.self, from: Data(response.body))
      throw Refusal(.status(response.status, problem), server: server)
    }
    let body = response.body.isEmpty ? Array("{}".utf8) : response.body
    do { return try JSONDecoder().decode(Answer.self, from: Data(body)) } catch {
      throw Refusal(.unreadable("not what was expected"), server: server)
    }
  }
}

/// `HANDSTAMP_TOKEN`: an access token from somewhere else. It comes before the session's and is never stored.
enum EnvironmentToken {
  static let name = "HANDSTAMP_TOKEN"

  static var current: AccessToken? {
    guard let text = ProcessInfo.processInfo.environment[name], !text.isEmpty else { return nil }
    return AccessToken(text)
  }

  static let refused = Refusal(
    .signInNeeded, "the server refuses the token in \(name)", hint: "put a new one there, or run: unset \(name)")

  /// For commands whose effect the variable would hide.
  static func refuse(to verb: String) throws(Refusal) {
    guard current != nil else { return }
    throw Refusal(
      .failure, "\(name) is set, so that \(verb) would change nothing that you see", hint: "run: unset \(name)")
  }
}
#endif
