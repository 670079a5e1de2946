#if canImport(Combine) || OpenCombine
public import Handstamp
import HandstampCore
import Observation

#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif

/// A session for views that still observe an `ObservableObject`. New code observes the `SessionManager` itself.
///
/// One published value holds the session and whether it is authenticated, so nobody sees one without the other. It changes in
/// a turn of the main actor of its own, never inside a call that changes the session, and so never inside a view's
/// update; several changes before that turn are one.
@MainActor public final class ObservableSession<Content: Sendable>: ObservableObject {
  /// Everything at one instant.
  @Published public private(set) var snapshot: SessionManager<Content>.Snapshot

  public let session: SessionManager<Content>

  public init(_ session: SessionManager<Content>) {
    self.session = session
    snapshot = session.snapshot
    watch()
  }

  public var currentUser: Profile? { snapshot.session.value ?? nil }
  public var isAuthenticated: Bool { currentUser != nil }
  public var isAnonymous: Bool { currentUser?.isAnonymous ?? false }
  public var isWorking: Bool { snapshot.isWorking }

  private func watch() {
    withObservationTracking {
      _ = session.snapshot
    } onChange: { [weak self] in
      // The change is not made yet, and whoever makes it may be a view that is being updated: both are over when this
      // task has its turn.
      Task { @MainActor in self?.take() }
    }
  }

  private func take() {
    // First, so that a change that comes from inside the publishing is not missed.
    watch()
    snapshot = session.snapshot
  }
}
#endif
