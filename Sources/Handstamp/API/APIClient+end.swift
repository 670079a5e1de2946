import Foundation
import HandstampSupport

/// Handles a 401 that reports the end of the session.
extension APIClient {
  /// Ends the session, and throws its reason, if the server that issues its tokens answers that it has ended. Such a response
  /// of any other API is ignored.
  func endIfToldSo(
    by response: TransportResponse, to request: TransportRequest, in generation: UInt64
  ) async throws(APIError) {
    guard let authority = controller.abilities.sessionEndingOrigin.flatMap(Origin.init),
      Origin(request.url) == authority,
      let problem = try? JSONDecoder().decode(Problem.self, from: Data(response.body)), problem.code == "session_ended",
      case .signedIn(let facts) = controller.state
    else { return }
    // Read after the state: it is the state of the session that the request was sent for, not of a later one.
    guard controller.requests.generation == generation else { return }
    let reason = problem.reason.flatMap { EndReason(rawValue: $0) } ?? .rejected
    await controller.endHere(facts.session, reason: reason)
    throw .session(.sessionEnded(reason))
  }
}

extension SessionController {
  /// Ends a session that the server has ended, and waits until the end is stored and published.
  nonisolated func endHere(_ session: SessionID, reason: EndReason) async {
    await sessionDidEnd(session, reason: reason)
    for await state in states {
      guard case .signedIn(let now) = state, now.session == session else { break }
    }
  }
}
