#if Command
import Foundation
import Handstamp
import HandstampCore

/// The credentials for API calls: the session, or the token in `HANDSTAMP_TOKEN`.
enum AuthorizedCaller: Sendable {
  case session(AccountClient)
  /// The last value is `nil` unless the account uses OAuth.
  case environment(AccessToken, ServerAddress, OAuthAccess?)

  /// - Parameter minimumAge: A token younger than this is not replaced.
  static func current(
    _ options: AccountOptions, minimumAge: Duration = .seconds(5)
  ) async throws(CommandError) -> AuthorizedCaller {
    guard let token = EnvironmentToken.current else {
      return .session(try await AccountClient.chosen(options, minimumAge: minimumAge))
    }
    if options.account != nil { try EnvironmentToken.refuse(to: "--account") }
    let home = try Home.current()
    let book = try await AccountBook(of: home)
    // HANDSTAMP_ACCOUNT also selects the server; the token must not go to another one.
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

  /// Sends a request with the token, to the account's own origin only.
  ///
  /// - Parameter proof: another token of the same session, to be tried first.
  func respond(to request: TransportRequest, proof: AccessToken? = nil) async throws(CommandError) -> TransportResponse
  {
    if let proof {
      let response = try await send(request, with: proof)
      if response.status != 401 { return response }
    }
    switch self {
    case .session(let client):
      do throws(APIError) {
        let response = try await client.waiting { () async throws(APIError) in
          try await client.api.respond(to: request)
        }
        await client.settle()
        return response
      } catch {
        if case .session(let error) = error { throw await client.refusal(error) }
        throw CommandError(error, server: client.server).about(client.account)
      }
    case .environment(let token, _, _):
      let response = try await send(request, with: token)
      guard response.status != 401 else { throw EnvironmentToken.refused }
      return response
    }
  }

  private func send(_ request: TransportRequest, with token: AccessToken) async throws(CommandError)
    -> TransportResponse
  {
    guard server.covers(request.url) else { throw CommandError(.invalidRequest("another origin"), server: server) }
    var request = request
    request.headers.append(.bearer(token.secret))
    do throws(TransportError) {
      return try await WaitLine.shared.during(server.text) { () async throws(TransportError) in
        try await CommandTransport.shared.send(request)
      }
    } catch {
      throw CommandError(.network(error), server: server)
    }
  }

  /// Calls the API of a Handstamp server and decodes the response.
  ///
  /// - Parameters:
  ///   - proof: another token of the same session, to be tried first.
  ///   - what: The feature, named in the refusal for third-party servers, which are not sent the request.
  func call<Answer: Decodable>(
    _ method: String, _ path: String, json: [String: String]? = nil, proof: AccessToken? = nil, as type: Answer.Type,
    for what: String
  ) async throws(CommandError) -> Answer {
    if let foreign = try await foreign() { throw foreign.lacks(what, at: server) }
    let sent = json.flatMap { try? JSONEncoder().encode($0) } ?? Data()
    let types = json == nil ? [] : [HeaderField("Content-Type", "application/json")]
    let response = try await respond(
      to: TransportRequest(
        method: method, url: server.text + path, headers: [HeaderField("Accept", "application/json")] + types,
        body: Array(sent)), proof: proof)
    guard (200..<300).contains(response.status) else {
      let problem = try? JSONDecoder().decode(Problem.self, from: Data(response.body))
      throw CommandError(.status(response.status, problem), server: server)
    }
    let body = response.body.isEmpty ? Array("{}".utf8) : response.body
    do { return try JSONDecoder().decode(Answer.self, from: Data(body)) } catch {
      throw CommandError(.unreadable("unexpected format"), server: server)
    }
  }
}

/// `HANDSTAMP_TOKEN`: an access token from elsewhere. It takes precedence over the session's and is never stored.
enum EnvironmentToken {
  static let name = "HANDSTAMP_TOKEN"

  static var current: AccessToken? {
    let text = ProcessInfo.processInfo.environment[name]?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    return text.isEmpty ? nil : AccessToken(text)
  }

  /// Refuses a variable that no header can carry, before any command uses it.
  static func check() throws(CommandError) {
    guard let token = current, !token.secret.isToken else { return }
    throw CommandError(
      .usage, "\(name) is not a token: it has a space, a line break or another character that none has",
      hint: "set it to the token alone, or run: unset \(name)")
  }

  static let refused = CommandError(
    .signInNeeded, "the server rejected the token in \(name)", hint: "set a new one, or run: unset \(name)")

  /// Refuses a command whose effect the variable would hide.
  static func refuse(to verb: String) throws(CommandError) {
    guard current != nil else { return }
    throw CommandError(
      .failure, "\(name) is set, so \(verb) would have no visible effect", hint: "run: unset \(name)")
  }
}
#endif
