#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampHTTP
import HandstampSupport
import HTTPTypes
import HummingbirdCore
import NIOCore

/// Answers the peers of an agent's socket: `GET /token` with the document of `handstamp token --json`, and anything else with a problem.
struct AgentResponder: Sendable {
  let session: AgentSession
  /// The users whose processes get tokens.
  let users: Set<UInt32>
  /// `nil` hands out without asking.
  let consent: AgentConsent?
  let socket: String
  let log: AgentLog

  @concurrent func respond(to request: HummingbirdCore.Request, on channel: any Channel) async -> Response {
    let user = await PeerUser.id(of: channel)
    do throws(CommandError) {
      guard let user, users.contains(user) else {
        throw CommandError(
          .failure, "this socket does not serve user \(user.map { "\($0)" } ?? "unknown")",
          hint: "start the agent with --allow-uid \(user.map { "\($0)" } ?? "UID")", code: "wrong_user")
      }
      let question = try AgentQuestion(request)
      if let consent, await !consent.allows("hand out a token of \(session.words) on \(socket)?") {
        throw CommandError(
          .failure, "the user did not allow it", hint: "allow it when the agent asks", code: "access_denied")
      }
      let handed = try await session.token(lasting: question.validity, replacing: question.refused)
      let answer = await Token.Answer(handed, server: session.server)
      await note("gave user \(user) a token of \(session.words)" + AgentResponder.words(of: handed.end))
      return AgentResponder.json(.ok, answer)
    } catch {
      note("refused user \(user.map { "\($0)" } ?? "unknown"): \(error.message)")
      return AgentResponder.response(to: error)
    }
  }

  private static func words(of end: UnixTime?) -> String {
    end.map { ", which expires in \(max(.zero, $0.since(SystemClock().now().wall)).words)" } ?? ""
  }

  private func note(_ words: String) { log.say("\(SystemClock().now().wall) \(socket): \(words)") }

  static func response(to refusal: CommandError) -> Response {
    let problem = AgentProblem(refusal)
    var response = json(.init(code: problem.status), problem)
    response.headers[.contentType] = "application/problem+json"
    // RFC 9110 sections 15.5.2 and 15.5.6 require these.
    if problem.status == 401 { response.headers[.wwwAuthenticate] = "Handstamp" }
    if problem.status == 405 { response.headers[.allow] = "GET" }
    return response
  }

  private static func json(_ status: HTTPResponse.Status, _ document: some Encodable) -> Response {
    guard let bytes = try? document.jsonBytes() else { return Response(status: .internalServerError) }
    return .json(bytes, status: status)
  }
}

/// A request for a token: `/token?min_validity=60s&replacing=DIGEST`, both optional.
struct AgentQuestion: Sendable, Hashable {
  var validity = Duration.zero
  /// ``AgentSession/digest(of:)`` of the token that an API rejected.
  var refused: String?
}

extension AgentQuestion {
  init(_ request: HummingbirdCore.Request) throws(CommandError) {
    guard request.uri.path == "/token" else {
      throw AgentQuestion.refusal("there is no \(request.uri.path.prefix(60))", code: "not_found")
    }
    guard request.method == .get else {
      throw AgentQuestion.refusal("\(request.method.rawValue.prefix(20)) is no method here", code: "method_not_allowed")
    }
    for (name, value) in request.uri.queryParameters {
      switch name {
      case "min_validity":
        guard let span = Span(argument: String(value)) else {
          throw AgentQuestion.refusal("min_validity is no duration such as 60s or 5m")
        }
        validity = span.duration
      case "replacing":
        guard value.utf8.count == 64, Hexadecimal.bytes(value.utf8) != nil else {
          throw AgentQuestion.refusal("replacing is no SHA-256 in hexadecimal digits")
        }
        refused = value.lowercased()
      default: throw AgentQuestion.refusal("there is no parameter \(name.prefix(60))")
      }
    }
  }

  /// The path and query.
  var path: String {
    let parts = [
      validity > .zero ? "min_validity=\(validity.wholeMilliseconds)ms" : nil, refused.map { "replacing=\($0)" },
    ].compactMap { $0 }
    return "/token" + (parts.isEmpty ? "" : "?" + parts.joined(separator: "&"))
  }

  private static func refusal(_ words: String, code: String? = nil) -> CommandError {
    CommandError(.usage, words.onOneLine, hint: "use GET /token?min_validity=60s&replacing=SHA256", code: code)
  }
}

/// The user at the other end of a Unix domain socket, as the kernel knows it.
enum PeerUser {
  /// Returns the user ID that the peer had when it connected (`SO_PEERCRED` of unix(7), `LOCAL_PEERCRED` on Apple's systems); `nil` if
  /// the system does not tell. A forwarded socket has the forwarding program for its peer.
  static func id(of channel: any Channel) async -> UInt32? {
    guard let provider = channel as? any SocketOptionProvider else { return nil }
    #if canImport(Darwin)
    let facts: xucred? = try? await provider.unsafeGetSocketOption(
      level: .init(rawValue: SOL_LOCAL), name: .init(rawValue: LOCAL_PEERCRED)
    ).get()
    return facts?.cr_uid
    #else
    let facts: Credentials? = try? await provider.unsafeGetSocketOption(
      level: .socket, name: .init(rawValue: SO_PEERCRED)
    ).get()
    return facts?.user
    #endif
  }

  #if !canImport(Darwin)
  /// The layout of `struct ucred`, which is imported with GNU extensions only.
  private struct Credentials: Sendable {
    var process: Int32
    var user: UInt32
    var group: UInt32
  }
  #endif
}

/// A refusal of the agent, as problem+json (RFC 9457) with the command's hint and exit status.
struct AgentProblem: Codable, Sendable, Hashable {
  var type: String
  var title: String
  var status: Int
  var code: String
  var hint: String
  var exitStatus: Int32

  init(_ refusal: CommandError) {
    type = "urn:handstamp:problem:" + refusal.code
    (title, status, code) = (refusal.message, AgentProblem.status(of: refusal), refusal.code)
    (hint, exitStatus) = (refusal.hint, refusal.exit.rawValue)
  }

  private static func status(of refusal: CommandError) -> Int {
    switch (refusal.code, refusal.exit) {
    case ("wrong_user", _), ("access_denied", _): 403
    case ("not_found", _): 404
    case ("method_not_allowed", _): 405
    case (_, .signInNeeded): 401
    case (_, .usage): 400
    case (_, .vault), (_, .network), (_, .cancelled): 503
    case (_, .ok), (_, .failure), (_, .configuration), (_, .notRunnable), (_, .notFound): 500
    }
  }

  /// The refusal of the command that asked. The advice is for the machine of the agent.
  var refusal: CommandError {
    // Others would look like success, or like a program of `exec`.
    let exit: ExitReason =
      switch ExitReason(rawValue: exitStatus) {
      case .none, .ok, .notRunnable, .notFound: .failure
      case .some(let known): known
      }
    return CommandError(
      exit, "the agent refused: \(plain(title))",
      hint: "where the agent runs: \(plain(hint))", code: code)
  }
}
#endif
