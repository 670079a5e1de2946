public import HandstampCore

/// The end of one refresh. See ``SessionController/refreshes()``.
public struct RefreshEvent: Sendable, Hashable {
  /// The session that was refreshed.
  public var session: SessionID
  /// Why the refresh brought no tokens; `nil` if it did.
  public var error: SessionError?
  /// Whether another process refreshed, and this one adopted its tokens.
  public var wasByAnotherProcess: Bool

  public init(session: SessionID, error: SessionError? = nil, wasByAnotherProcess: Bool = false) {
    self.session = session
    self.error = error
    self.wasByAnotherProcess = wasByAnotherProcess
  }
}

extension SessionController {
  /// Returns a stream of every refresh that ends from now on, in order. The stream ends with the controller.
  public nonisolated func refreshes() -> AsyncStream<RefreshEvent> { refreshHub.subscribe() }

  func tellRefresh(_ entry: AuditEntry) {
    guard let session = entry.session else { return }
    switch entry.action {
    case .refresh:
      let error = entry.outcome == "ok" ? nil : machine.refreshFailure
      refreshHub.publish { _ in RefreshEvent(session: session, error: error) }
    default: break
    }
  }

  /// Reports tokens of another process: this one found them in the vault, and its own refresh did not bring them.
  func tellAdoption(
    _ event: SessionMachine.Event, _ effects: [SessionMachine.Effect],
    _ former: (session: SessionID?, token: AccessToken?)
  ) {
    switch event {
    case .read, .edited: break
    default: return
    }
    guard let session = machine.sessionID, session == former.session, let token = machine.access?.token,
      token != former.token,
      !effects.contains(where: { if case .audit = $0 { true } else { false } })
    else { return }
    log?.noteAdoption(in: session)
    refreshHub.publish { _ in RefreshEvent(session: session, wasByAnotherProcess: true) }
  }
}
