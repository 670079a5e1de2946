#if Command
import Foundation

/// A refusal of the agent, as problem+json (RFC 9457) with the command's hint and exit status.
struct AgentProblem: Codable, Sendable, Hashable {
  var type: String
  var title: String
  var status: Int
  var code: String
  var hint: String
  var exitStatus: Int32

  init(_ refusal: CommandError) {
    self.init(refusal, status: AgentProblem.status(of: refusal.exit))
  }

  init(_ refusal: CommandError, status: Int) {
    type = "urn:handstamp:problem:" + refusal.code
    (title, self.status, code) = (refusal.message, status, refusal.code)
    (hint, exitStatus) = (refusal.hint, refusal.exit.rawValue)
  }

  private static func status(of exit: ExitReason) -> Int {
    switch exit {
    case .signInNeeded: 401
    case .usage: 400
    case .vault, .network, .cancelled: 503
    case .ok, .failure, .configuration, .notRunnable, .notFound: 500
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
