public import HandstampCore
import HandstampSupport

/// The end of one refresh. See ``SessionController/refreshes()``.
public struct RefreshEvent: Sendable, Hashable {
  /// The session that was refreshed.
  public var sessionID: SessionID
  /// Why the refresh brought no tokens; `nil` if it did.
  public var error: SessionError?
  /// Whether another process refreshed, and this one adopted its tokens.
  public var wasByAnotherProcess: Bool

  package init(sessionID: SessionID, error: SessionError? = nil, wasByAnotherProcess: Bool = false) {
    self.sessionID = sessionID
    self.error = error
    self.wasByAnotherProcess = wasByAnotherProcess
  }
}

extension SessionController {
  /// Returns a stream of every refresh that ends from now on, in order. The stream ends with the controller.
  public nonisolated func refreshes() -> AsyncStream<RefreshEvent> { refreshHub.subscribe() }
}
