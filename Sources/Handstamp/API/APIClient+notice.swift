import HandstampCore

/// What requests carry, and what answers say about the session.
extension APIClient {
  /// The request as the backend sends it with `token`. What that token says to be over ends the session.
  func authorized(
    _ request: TransportRequest, by token: AccessToken, in generation: UInt64
  ) async throws(AttemptFailure) -> TransportRequest {
    switch controller.backend.authorize(request, with: token, at: controller.clock.now().wall) {
    case .ready(let request): return request
    case .over(let reason):
      await end(reason, in: generation)
      throw .final(.unauthorized(.signedOut(reason)))
    }
  }

  /// Keeps what the server put in place of what was sent, and believes it when it says that the session is over.
  func heed(
    _ response: TransportResponse, to request: TransportRequest, sent token: AccessToken, in generation: UInt64
  ) async throws(AttemptFailure) {
    let now = controller.clock.now().wall
    guard case .signedIn(let facts) = controller.state, controller.requests.generation == generation else { return }
    var token = token
    // Another answer, or another program, may have brought something newer meanwhile: this one's is added to that.
    for _ in 0..<16 {
      switch controller.backend.notice(in: response, to: request, with: token, at: now) {
      case .nothing: return
      case .over(let reason):
        await end(reason, in: generation)
        throw .final(.unauthorized(.rejected(reason)))
      case .renewed(let new):
        guard let newer = await controller.renew(facts.session, from: token, to: new) else { return }
        token = newer
      }
    }
  }

  private func end(_ reason: EndReason, in generation: UInt64) async {
    guard case .signedIn(let facts) = controller.state, controller.requests.generation == generation else { return }
    await controller.sessionEnded(facts.session, reason: reason)
    // Not before the end is written down and everybody was told.
    for await state in controller.states {
      guard case .signedIn(let now) = state, now.session == facts.session else { break }
    }
  }
}

extension SessionController {
  /// Puts `new` in the place of `old`. What is in use instead, if that was no longer `old`.
  func renew(_ session: SessionID, from old: AccessToken, to new: AccessToken) async -> AccessToken? {
    let waiter = nextWaiter()
    guard case .success(.renewedElsewhere) = await command(waiter, .renewed(waiter, session, from: old, to: new)) else {
      return nil
    }
    return machine.access?.token
  }
}
