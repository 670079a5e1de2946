#if Command
import Foundation
import HandstampCommandLine

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
