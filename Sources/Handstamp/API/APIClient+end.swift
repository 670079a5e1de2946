import Foundation

/// What a 401 says about the session itself.
extension APIClient {
  /// Ends the session when the server that issues its tokens answers that it is over, and throws its reason. Any other API
  /// may say so as it likes: nothing happens.
  func endIfToldSo(
    by response: TransportResponse, to request: TransportRequest, in generation: UInt64
  ) async throws(APIError) {
    guard let authority = controller.backend.authority.flatMap(Origin.init), Origin(request.url) == authority,
      let problem = try? JSONDecoder().decode(Problem.self, from: Data(response.body)), problem.code == "session_ended",
      case .signedIn(let facts) = controller.state
    else { return }
    // Read after the state: the state is that of the session which the request was sent for, not of one that followed.
    guard controller.requests.generation == generation else { return }
    let reason = problem.reason.flatMap { EndReason(rawValue: $0) } ?? .rejected
    await controller.sessionEnded(facts.session, reason: reason)
    // Not before the end is written down and everybody was told.
    for await state in controller.states {
      guard case .signedIn(let now) = state, now.session == facts.session else { break }
    }
    throw .unauthorized(.rejected(reason))
  }
}
