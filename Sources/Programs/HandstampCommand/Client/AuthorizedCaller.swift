#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// The credentials for API calls: the session, the token in `HANDSTAMP_TOKEN`, or the agent of `HANDSTAMP_AGENT`.
enum AuthorizedCaller: Sendable {
  case session(AccountClient)
  case environment(AccessToken, AccountServer)
  /// An agent, and its token and server.
  case agent(AgentClient, AccessToken, ServerAddress)

  /// - Parameter minimumAge: A token younger than this is not replaced.
  static func current(
    _ options: AccountOptions, in installation: Installation, minimumAge: Duration = .seconds(5)
  ) async throws(CommandError) -> AuthorizedCaller {
    if let agent = try AgentClient.current() {
      if options.account != nil { try EnvironmentToken.refuse(to: "--account") }
      let answer = try await agent.ask(AgentQuestion())
      guard let server = answer.server else {
        throw CommandError.noServer.hinting("update handstamp where the agent runs, then start the agent again")
      }
      return .agent(
        agent, AccessToken(answer.token), try ServerAddress(parsing: server, allowingClearText: true))
    }
    guard let token = EnvironmentToken.current else {
      return .session(try await installation.client(options, minimumAge: minimumAge))
    }
    if options.account != nil { try EnvironmentToken.refuse(to: "--account") }
    let known = try await installation.knownAccounts()
    // HANDSTAMP_ACCOUNT also selects the server; the token must not go to another one.
    if let account = try known.choice(options.named).account {
      return .environment(token, try AccountServer(of: account, in: known.home))
    }
    guard let last = known.settings.server else {
      throw CommandError.noServer.hinting("unset \(EnvironmentToken.name), then run: handstamp login --server URL")
    }
    return .environment(token, AccountServer(last))
  }

  var server: ServerAddress {
    switch self {
    case .session(let client): client.server
    case .environment(_, let server): server.address
    case .agent(_, _, let server): server
    }
  }

  private var transport: any Transport {
    switch self {
    case .session(let client): client.transport
    case .environment(_, let server): server.transport
    case .agent: CommandTransport.shared
    }
  }

  /// Sends a request with the token, to the account's own origin only.
  func respond(to request: TransportRequest) async throws(CommandError) -> TransportResponse {
    switch self {
    case .session(let client):
      do throws(APIError) {
        return try await client.waiting { () async throws(APIError) in try await client.api.response(to: request) }
      } catch {
        if case .session(let error) = error { throw await client.refusal(error) }
        throw CommandError(error, server: client.server).about(client.name)
      }
    case .environment(let token, _):
      let response = try await send(request, with: token)
      guard response.status != 401 else { throw EnvironmentToken.refused }
      return response
    case .agent(let agent, let token, _):
      let response = try await send(request, with: token)
      guard response.status == 401 else { return response }
      let again = try await send(request, with: try await agent.token(replacing: token))
      guard again.status != 401 else { throw AgentClient.refused }
      return again
    }
  }

  func send(_ request: TransportRequest, with token: AccessToken) async throws(CommandError)
    -> TransportResponse
  {
    guard server.covers(request.url) else { throw CommandError(.invalidRequest("another origin"), server: server) }
    let request = request.authorized(by: token)
    do throws(TransportError) {
      return try await WaitLine.shared.during(server.text) { () async throws(TransportError) in
        try await transport.send(request)
      }
    } catch {
      throw CommandError(.network(error), server: server)
    }
  }

  /// Calls the API of a Handstamp server and decodes the response.
  ///
  /// - Parameter what: The feature, named in the refusal for third-party servers, which are not sent the request.
  func call<Body: Decodable>(
    _ method: String, _ path: String, json: [String: String]? = nil, as type: Body.Type, for what: String
  ) async throws(CommandError) -> Body {
    if let foreign = try await foreign() { throw foreign.lacks(what, at: server) }
    let sent = json.flatMap { try? JSONEncoder().encode($0) } ?? Data()
    let types = json == nil ? [] : [HeaderField("Content-Type", "application/json")]
    let response = try await respond(
      to: TransportRequest(
        method: method, url: server.text + path, headers: [HeaderField("Accept", "application/json")] + types,
        body: Array(sent)))
    guard (200..<300).contains(response.status) else {
      let problem = try? JSONDecoder().decode(Problem.self, from: Data(response.body))
      throw CommandError(.status(response.status, problem), server: server)
    }
    let body = response.body.isEmpty ? Array("{}".utf8) : response.body
    do { return try JSONDecoder().decode(Body.self, from: Data(body)) } catch {
      throw CommandError(.unreadable("unexpected format"), server: server)
    }
  }

  /// Ends sessions of the account by a request to a Handstamp server. Returns how many.
  ///
  /// - Parameter password: proves for this request that the user is the owner.
  @discardableResult
  func endSessions(
    _ method: String, _ path: String, password: Secret? = nil
  ) async throws(CommandError) -> Int {
    struct Ended: Decodable { var ended: Int? }
    do throws(CommandError) {
      let fields = password.map { ["password": $0.withExposed { $0 }] }
      return try await call(method, path, json: fields, as: Ended.self, for: "ending other sessions").ended ?? 0
    } catch { throw suggestingOwnClient(error) }
  }

  /// Returns the refusal to show or end sessions, if the client is not the server's own, with what works in its place.
  func suggestingOwnClient(_ refusal: CommandError) -> CommandError {
    guard refusal.code == "insufficient_scope" else { return refusal }
    let page = "open \(server.text)/account/devices"
    guard case .session = self else { return refusal.hinting(page) }
    return refusal.hinting(
      "this client may not list or end sessions; \(page), or sign in with: handstamp login EMAIL "
        + "--server \(shellWord(server.text)) --force")
  }

  private struct Proof: Decodable { var access_token: String }

  /// Asks for the password, and for the code of an authenticator app if the account has one. Returns a token of the same session that
  /// shows the proof.
  func proven(for what: String) async throws(CommandError) -> AccessToken {
    let password = try Terminal.secret("password")
    let proof = try await CommandError.askingForCode { code throws(CommandError) in
      var fields = ["password": password.withExposed { $0 }]
      fields["code"] = code?.withExposed { $0 }
      return try await call("POST", "/v1/reauthenticate", json: fields, as: Proof.self, for: what)
    }
    return AccessToken(proof.access_token)
  }
}

extension CommandError {
  /// Does `body`, and again with a code if the server asks for that of an authenticator app.
  static func askingForCode<Value>(
    _ body: (_ code: Secret?) async throws(CommandError) -> Value
  ) async throws(CommandError) -> Value {
    do throws(CommandError) { return try await body(nil) } catch {
      guard error.code == "second_factor_required" else { throw error }
      guard let code = try Terminal.secretAtTerminal("code of the authenticator app") else { throw error }
      return try await body(code)
    }
  }
}

/// `HANDSTAMP_TOKEN`: an access token from elsewhere. It takes precedence over the session's and is never stored.
enum EnvironmentToken {
  static let name = "HANDSTAMP_TOKEN"

  static var current: AccessToken? {
    let text = ProcessEnvironment[name]?.trimmed ?? ""
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

  /// Refuses a command whose effect the variable, or that of an agent, would hide.
  static func refuse(to verb: String) throws(CommandError) {
    guard let name = current != nil ? name : AgentClient.isSet ? AgentClient.variable : nil else { return }
    throw CommandError(
      .failure, "\(name) is set, so \(verb) would have no visible effect", hint: "run: unset \(name)")
  }
}
#endif
