import HandstampCore

/// Attaches the credential, and inspects responses for changes to the session.
extension APIClient {
  /// Returns the request with `token` attached by the backend. Ends the session if that credential has expired.
  func authorized(
    _ request: TransportRequest, by token: AccessToken, in generation: UInt64
  ) async throws(AttemptFailure) -> TransportRequest {
    switch controller.abilities.authorize(request, with: token, at: controller.clock.now().wall) {
    case .ready(let request): return request
    case .ended(let reason):
      await end(reason, in: generation)
      throw .final(.session(.signedOut(reason)))
    }
  }

  /// Stores a credential that the server has replaced, and ends the session if the response says so.
  func inspect(
    _ response: TransportResponse, to request: TransportRequest, sent token: AccessToken, in generation: UInt64
  ) async throws(AttemptFailure) {
    let now = controller.clock.now().wall
    guard case .signedIn(let facts) = controller.state, controller.requests.generation == generation else { return }
    var token = token
    // Another response, or another program, may have replaced the credential meanwhile: this one is merged into the newest.
    for _ in 0..<16 {
      switch controller.abilities.inspect(response, to: request, with: token, at: now) {
      case .unchanged: return
      case .ended(let reason):
        await end(reason, in: generation)
        throw .final(.session(.sessionEnded(reason)))
      case .renewed(let new):
        guard let newer = await controller.renew(facts.session, from: token, to: new) else { return }
        token = newer
      }
    }
  }

  private func end(_ reason: EndReason, in generation: UInt64) async {
    guard case .signedIn(let facts) = controller.state, controller.requests.generation == generation else { return }
    await controller.endHere(facts.session, reason: reason)
  }
}

extension SessionController {
  /// Replaces `old` with `new`. Returns the credential in use instead if that was no longer `old`.
  func renew(_ session: SessionID, from old: AccessToken, to new: AccessToken) async -> AccessToken? {
    let waiter = nextWaiter()
    guard case .success(.renewedElsewhere) = await command(waiter, .renewed(waiter, session, from: old, to: new)) else {
      return nil
    }
    return machine.access?.token
  }
}
