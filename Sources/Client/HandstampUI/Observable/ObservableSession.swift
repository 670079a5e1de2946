#if canImport(Combine) || Exploration
public import Handstamp
import Observation

#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif

/// A session for views that still observe an `ObservableObject`. New code observes the `SessionManager` itself.
///
/// One published value holds both the session and whether it is authenticated, so that they always agree. It is
/// published in a main-actor turn of its own, never inside a call that changes the session, and hence never during a
/// view update; changes made before that turn are combined.
@MainActor public final class ObservableSession<Content: Sendable>: ObservableObject {
  /// The complete state at one instant.
  @Published public private(set) var snapshot: SessionManager<Content>.Snapshot

  public let session: SessionManager<Content>

  public init(_ session: SessionManager<Content>) {
    self.session = session
    snapshot = session.snapshot
    watch()
  }

  /// The state of the session, at the instant of ``snapshot``, which a root view switches over.
  public var state: SessionState { snapshot.state }
  public var currentUser: Profile? { signedIn?.profile }
  /// Whether a session is in use. `false` does not mean signed out: ``state`` tells that from a vault that is being read, or
  /// locked.
  public var isAuthenticated: Bool { signedIn != nil }
  public var isAnonymous: Bool { currentUser?.isAnonymous ?? false }
  public var isWorking: Bool { snapshot.isWorking }

  private var signedIn: SignedIn? { snapshot.session.value ?? nil }

  private func watch() {
    withObservationTracking {
      _ = session.snapshot
    } onChange: { [weak self] in
      // The change is not applied yet, and may be caused by a view being updated: both have finished when this task
      // runs.
      Task { @MainActor in self?.take() }
    }
  }

  private func take() {
    // First, so that a change made while publishing is not missed.
    watch()
    snapshot = session.snapshot
  }
}
#endif
