import HandstampCore

/// Attaches the credential, and inspects responses for changes to the session.
extension APIClient {
  /// Returns the request with `credential` attached by the backend. Ends the session if that has expired.
  func authorized(
    _ request: TransportRequest, by credential: Credential, in generation: UInt64
  ) async throws(AttemptFailure) -> TransportRequest {
    if let ready = controller.abilities.authorize(request, with: credential, at: controller.clock.now().wall) {
      return ready
    }
    await end(.expired, in: generation)
    throw .final(.session(.signedOut(.expired)))
  }

  /// Stores a credential that the server has replaced, and ends the session if the response says so.
  func inspect(
    _ response: TransportResponse, to request: TransportRequest, sent credential: Credential, in generation: UInt64
  ) async throws(AttemptFailure) {
    let now = controller.clock.now().wall
    guard case .signedIn(let facts) = controller.state, controller.requests.generation == generation else { return }
    var credential = credential
    // Another response, or another program, may have replaced the credential meanwhile: this one is merged into the newest.
    for _ in 0..<16 {
      switch controller.abilities.inspect(response, to: request, with: credential, at: now) {
      case .unchanged: return
      case .ended(let reason):
        await end(reason, in: generation)
        throw .final(.session(.sessionEnded(reason)))
      case .renewed(let new):
        guard let newer = await controller.renew(facts.session, from: credential, to: new) else { return }
        credential = newer
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
  func renew(_ session: SessionID, from old: Credential, to new: Credential) async -> Credential? {
    let waiter = nextWaiter()
    guard case .success(.renewedElsewhere) = await command(waiter, .renewed(waiter, session, from: old, to: new)) else {
      return nil
    }
    return machine.access?.credential
  }
}
