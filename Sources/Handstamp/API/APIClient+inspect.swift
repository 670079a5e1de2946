import Foundation
import HandstampCore
import HandstampSupport

/// Inspects responses for changes to the session.
extension APIClient {
  /// Stores a credential that the server has replaced, and ends the session if the response says so.
  func inspect(
    _ response: TransportResponse, to request: TransportRequest, by scheme: any RequestCredential,
    sent credential: Credential, in generation: UInt64
  ) async throws(APIError) {
    let now = controller.clock.now().wall
    guard case .signedIn(let facts) = controller.state, controller.requests.generation == generation else { return }
    var credential = credential
    // Another response, or another program, may have replaced the credential meanwhile: this one is merged into the newest.
    for _ in 0..<16 {
      switch scheme.inspect(response, to: request, with: credential, at: now) {
      case .unchanged: return
      case .ended(let reason):
        await end(reason, in: generation)
        throw .session(.sessionEnded(reason))
      case .renewed(let new):
        guard let newer = await controller.renew(facts.id, from: credential, to: new) else { return }
        credential = newer
      }
    }
  }

  /// Ends the session, and throws its reason, if the server that issues its tokens answers a 401 that says so. Such a response
  /// of any other API is ignored.
  func endSessionIfReported(
    by response: TransportResponse, to request: TransportRequest, in generation: UInt64
  ) async throws(APIError) {
    guard let authority = controller.abilities.sessionEndingOrigin.flatMap(Origin.init),
      Origin(request.url) == authority,
      let problem = try? JSONDecoder().decode(Problem.self, from: Data(response.body)), problem.code == "session_ended"
    else { return }
    let reason = EndReason(reported: problem.reason, at: problem.provider)
    if await end(reason, in: generation) { throw .session(.sessionEnded(reason)) }
  }

  /// Ends the session that the request was sent for; `false` if that is no longer in use.
  @discardableResult
  func end(_ reason: EndReason, in generation: UInt64) async -> Bool {
    // The generation is read after the state, which might be that of a later session.
    guard case .signedIn(let facts) = controller.state, controller.requests.generation == generation else {
      return false
    }
    await controller.endHere(facts.id, reason: reason)
    return true
  }
}
