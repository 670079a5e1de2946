import HandstampCore

/// Changes of the session that a response to a request brings, or the app.
extension SessionController {
  /// Stores the profile of the session in use.
  nonisolated func update(_ profile: Profile) async throws(SessionError) {
    for await state in states where state != .restoring { break }
    switch state {
    case .restoring: throw .cancelled
    case .signedOut(let reason): throw .signedOut(reason)
    case .unavailable(let error): throw error
    case .signedIn(let facts):
      let waiter = nextWaiter()
      _ = try await command(waiter, .identified(waiter, facts.id, profile)).get()
    }
  }

  /// Replaces `old` with `new`. Returns the credential in use instead if that was no longer `old`.
  func renew(_ session: SessionID, from old: Credential, to new: Credential) async -> Credential? {
    let waiter = nextWaiter()
    guard case .success(.renewedElsewhere) = await command(waiter, .renewed(waiter, session, from: old, to: new)) else {
      return nil
    }
    return machine.access?.credential
  }

  /// Ends a session that the server has ended, and waits until the end is stored and published.
  nonisolated func endHere(_ session: SessionID, reason: EndReason) async {
    await sessionDidEnd(session, reason: reason)
    for await state in states {
      guard case .signedIn(let now) = state, now.id == session else { break }
    }
  }

  /// The error of a request that the fence stopped.
  nonisolated var fenceError: SessionError {
    if case .signedOut(let reason) = state { .signedOut(reason) } else { .signedOut(.replaced) }
  }
}
