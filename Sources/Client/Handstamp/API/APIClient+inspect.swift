import Foundation
import HandstampCore
import HandstampSupport

/// Inspects responses for changes to the session.
extension APIClient {
  /// Stores a credential that the server has replaced, and ends the session if the response is proof of that. If it is a mere
  /// hint, the server is asked once more with the credential in use. Returns the response for the caller.
  func inspected(
    _ response: TransportResponse, to request: TransportRequest, by scheme: any RequestCredential,
    sent credential: Credential, in generation: UInt64
  ) async throws(APIError) -> TransportResponse {
    switch try await settle(response, to: request, by: scheme, sent: credential, in: generation) {
    case .nothing, .proof: return response
    case .hint: break
    }
    // A request that changes something is not repeated: any page with the cookie answers the question.
    let again = request.onlyReads ? request : TransportRequest(method: "GET", url: baseURL.absoluteString)
    let newest: Credential
    do throws(SessionError) { newest = try await controller.unguarded(SessionMachine.Need()) } catch {
      throw .session(error)
    }
    guard let ready = scheme.authorize(again, with: newest, at: controller.clock.now().wall) else { return response }
    let second = try await controller.requests.run(in: generation) { [transport] () async throws(APIError) in
      try await Transfer.whole.send(ready, over: transport)
    }
    guard let second else { throw .session(controller.fenceError) }
    _ = try await settle(second, to: ready, by: scheme, sent: newest, isRepeat: true, in: generation)
    return request.onlyReads ? second : response
  }

  /// Takes in what the site has changed in a web view. A web view does not tell the status of a response, which may have been that of a
  /// server in trouble: the removal of the credential is a hint, as in a redirect, and the server is asked.
  ///
  /// - Parameter credential: the one that was lent.
  func takeIn(_ changes: [HeaderField], sent credential: Credential, in generation: UInt64) async {
    let page = TransportRequest(method: "GET", url: baseURL.absoluteString)
    guard let scheme = controller.abilities.credential,
      let request = scheme.authorize(page, with: credential, at: controller.clock.now().wall)
    else { return }
    let response = TransportResponse(status: 302, headers: changes)
    _ = try? await inspected(response, to: request, by: scheme, sent: credential, in: generation)
  }

  /// How far a response shows that the session has ended.
  private enum EndEvidence {
    case nothing, hint, proof

    /// - Parameters:
    ///   - status: of a response that takes the credential away.
    ///   - isInUse: whether the response answers the credential that is still in use.
    ///   - isRepeat: whether the server was asked once more.
    init(status: Int, isInUse: Bool, isRepeat: Bool) {
      switch status {
      // The server, or the proxy before it, is in trouble.
      case 500..., 429: self = .nothing
      case _ where !isInUse: self = isRepeat ? .nothing : .hint
      // A node that does not know the session leads to the sign-in, too.
      case 300..<400: self = isRepeat ? .proof : .hint
      default: self = .proof
      }
    }
  }

  private func settle(
    _ response: TransportResponse, to request: TransportRequest, by scheme: any RequestCredential,
    sent credential: Credential, isRepeat: Bool = false, in generation: UInt64
  ) async throws(APIError) -> EndEvidence {
    let now = controller.clock.now().wall
    guard case .signedIn(let facts) = controller.state, controller.requests.generation == generation else {
      return .nothing
    }
    var credential = credential
    // Another response, or another program, may have replaced the credential meanwhile: this one is merged into the newest.
    for _ in 0..<16 {
      switch scheme.inspect(response, to: request, with: credential, at: now) {
      case .unchanged: return .nothing
      case .ended(let reason):
        // Asks the vault, too, which has a replacement by another process first.
        let newest = await controller.renew(facts.id, from: credential, to: credential)
        let evidence = EndEvidence(
          status: response.status, isInUse: newest == nil || newest == credential, isRepeat: isRepeat)
        guard evidence == .proof else { return evidence }
        await end(reason, in: generation)
        throw .session(.sessionEnded(reason))
      case .renewed(let new):
        guard let newer = await controller.renew(facts.id, from: credential, to: new) else { return .nothing }
        credential = newer
      }
    }
    return .nothing
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
