#if Command
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampSupport

/// `HANDSTAMP_AGENT`: the socket of a `handstamp agent`, whose tokens are used in place of a session's. Nothing is stored.
struct AgentClient: Sendable {
  static let variable = "HANDSTAMP_AGENT"

  /// Whether the variable is in effect: a token in the environment comes first.
  static var isSet: Bool { EnvironmentToken.current == nil && ProcessEnvironment[variable] != nil }

  let socket: SocketFile
  private let transport: any Transport
  /// The agent may ask its user, who has a minute, and may wait for a refresh.
  private static let patience = Duration.seconds(90)
  private static let longest = 1 << 20

  /// Returns the agent named by the environment; `nil` if there is none.
  static func current() throws(CommandError) -> AgentClient? {
    guard isSet, let path = ProcessEnvironment[variable] else { return nil }
    return try AgentClient(path)
  }

  init(_ path: String) throws(CommandError) {
    socket = try SocketFile(path, hint: "set \(AgentClient.variable) to the path of the agent's socket")
    transport = try CommandTransport.make(socket: socket.path, namedBy: AgentClient.variable)
  }

  func ask(_ question: AgentQuestion) async throws(CommandError) -> Token.Answer {
    let request = TransportRequest(
      method: "GET", url: "http://agent" + question.path, headers: [HeaderField("Accept", "application/json")],
      timeout: AgentClient.patience, maximumResponseSize: AgentClient.longest)
    let response: TransportResponse
    do throws(TransportError) {
      response = try await WaitLine.shared.during("the agent") { () async throws(TransportError) in
        try await transport.send(request)
      }
    } catch .cancelled { throw CommandError.cancelled } catch {
      throw CommandError(
        .network, "no agent answers on \(socket.path.onOneLine)",
        hint: "run handstamp agent where you are signed in, forward its socket; or run: unset \(AgentClient.variable)",
        code: "agent_unreachable")
    }
    if response.status == 200, var answer = try? JSONDecoder().decode(Token.Answer.self, from: Data(response.body)),
      Secret(answer.token).isToken
    {
      answer.source = "agent"
      return answer
    }
    if let problem = try? JSONDecoder().decode(AgentProblem.self, from: Data(response.body)) { throw problem.refusal }
    throw CommandError(
      .failure, "the answer on \(socket.path.onOneLine) is not an agent's (\(response.status))",
      hint: "set \(AgentClient.variable) to the path of the agent's socket")
  }

  /// Returns another token than `refused`, which an API rejected.
  func token(replacing refused: AccessToken) async throws(CommandError) -> AccessToken {
    let next = AccessToken(try await ask(AgentQuestion(refused: AgentSession.digest(of: refused))).token)
    guard next != refused else { throw AgentClient.refused }
    return next
  }

  /// The refusal of what needs an ID token.
  static func noIDTokens(hint: String) -> CommandError {
    CommandError(.failure, "an agent hands out no ID tokens", hint: hint, code: "no_id_token")
  }

  static let refused = CommandError(
    .signInNeeded, "the server rejected the agent's token, and the one that replaced it",
    hint: "where the agent runs, run: handstamp status --verify")
}

/// A token that another program gets: the access token of `HANDSTAMP_TOKEN`, else of the agent, else of the session; the session's
/// ID token; or the access token of a program itself.
struct HandedToken: Sendable {
  var secret: Secret
  /// `environment`, `agent`, `session` or `client`.
  var source = "session"
  /// When it expires, by this device's wall clock; `nil` if that is not known.
  var end: UnixTime?

  var token: AccessToken { AccessToken(secret) }

  /// Whether either variable is set.
  static var isSet: Bool { EnvironmentToken.current != nil || AgentClient.isSet }

  /// Returns `nil` if neither variable is set.
  ///
  /// - Parameters:
  ///   - account: The value of `--account`, which either variable would hide.
  ///   - validity: The minimum remaining lifetime, as far as the source can tell it.
  static func current(
    account: String? = nil, lasting validity: Duration = .zero
  ) async throws(CommandError) -> HandedToken? {
    let token = EnvironmentToken.current
    let agent = try AgentClient.current()
    guard token != nil || agent != nil else { return nil }
    if account != nil { try EnvironmentToken.refuse(to: "--account") }
    if let token { return HandedToken(secret: token.secret, source: "environment") }
    guard let answer = try await agent?.ask(AgentQuestion(validity: validity)) else { return nil }
    return HandedToken(
      secret: Secret(answer.token), source: answer.source, end: answer.expiresAtEpoch.map { UnixTime(seconds: $0) })
  }
}
#endif
