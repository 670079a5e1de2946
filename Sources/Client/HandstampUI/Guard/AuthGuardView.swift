#if canImport(SwiftUI)
import Foundation
public import Handstamp
public import SwiftUI

/// The root view of an app: shows the content to signed-in users, a sign-in to others, and an explanation while neither
/// is possible.
///
/// ```swift
/// AuthGuardView(session) { content in
///   Home(content)
/// } signedOut: {
///   AuthView(session)
/// }
/// .environment(session)
/// ```
/// When the app becomes active, pending work is retried immediately.
///
/// **A lock.** With `lock:`, usually the one that is the session's `presence:`, the content is covered while the lock is closed
/// and while the app is not in front, as in the app switcher. After a launch and a return from the background the user is asked
/// at once. The content stays as it is below the cover. On iOS and iPadOS the cover is above sheets and alerts, too; elsewhere
/// a sheet is not covered. On macOS and Mac Catalyst, where windows stay in view, only the lock covers the content.
///
/// **Use.** A touch, a key, a movement of the pointer, scrolling, and the app's becoming active count as use of the session,
/// which puts off its end by inactivity (`SessionPolicy.idleLimit`). On iOS the keys are those that change a text, and on
/// watchOS a tap and becoming active are all. A timer, a request or a video that plays does not count: an app for which it does
/// calls the session's `updateSessionActivity()` itself.
///
/// **Apple.** A session that `AuthView` began with Apple is signed out if its user has taken the app off Apple's list in the
/// settings of the device. The view asks Apple at each launch.
///
/// **An end by a limit.** While one is near, the view says in how many seconds the session ends; where use puts that off, with
/// a button.
public struct AuthGuardView<Content: Sendable, SignedIn: View, SignedOut: View>: View {
  private let session: SessionManager<Content>
  private let lock: PresenceLock?
  private let signedIn: (Content) -> SignedIn
  private let signedOut: () -> SignedOut

  /// - Parameter lock: the lock whose closing covers the content. `nil` (the default) covers it never.
  public init(
    _ session: SessionManager<Content>, lock: PresenceLock? = nil,
    @ViewBuilder signedIn: @escaping (Content) -> SignedIn, @ViewBuilder signedOut: @escaping () -> SignedOut
  ) {
    self.session = session
    self.lock = lock
    self.signedIn = signedIn
    self.signedOut = signedOut
  }

  public var body: some View {
    // A new identity for each session, so that nothing of the previous account is shown.
    AuthGuardBody(session: session, lock: lock, signedIn: signedIn, signedOut: signedOut)
      .id(ObjectIdentifier(session))
  }
}

private struct AuthGuardBody<Content: Sendable, SignedIn: View, SignedOut: View>: View {
  @State private var model: AuthGuardModel<Content>
  @State private var isSigningIn = false
  @Environment(\.scenePhase) private var phase
  private let session: SessionManager<Content>
  private let signedIn: (Content) -> SignedIn
  private let signedOut: () -> SignedOut

  init(
    session: SessionManager<Content>, lock: PresenceLock?, signedIn: @escaping (Content) -> SignedIn,
    signedOut: @escaping () -> SignedOut
  ) {
    _model = State(initialValue: AuthGuardModel(session, lock: lock))
    self.session = session
    self.signedIn = signedIn
    self.signedOut = signedOut
  }

  var body: some View {
    GuardedView(cover: cover) {
      model.reportActivity()
    } content: {
      VStack(spacing: 0) {
        if let end = model.upcomingEnd { EndNotice(end) { model.reportActivity() } }
        shown
      }
    }
    .task { await model.covering?.follow() }
    .task(id: model.shown) { await model.checkApple() }
    .onChange(of: phase, initial: true) { _, new in
      model.enter(CoverModel.Phase(new))
      guard new == .active else { return }
      Task { await session.retryPendingWork() }
    }
    .onChange(of: model.asksByItself, initial: true) { _, asks in
      // In a task of its own: the change that asking causes must not cancel it.
      if asks { Task { await model.unlock() } }
    }
  }

  private var cover: CoverView? {
    guard let cover = model.cover, let covering = model.covering else { return nil }
    return CoverView(cover: cover, failure: covering.failure, isStuck: covering.isStuck) {
      await model.unlock()
    } signOut: {
      await model.signOut()
    }
  }

  private var shown: some View {
    Group {
      switch model.state {
      case .restoring: WaitingView(.restoring)
      case .loading: WaitingView(.loading)
      case .signedOut(let reason): Noticed(reason) { signedOut() }
      case .signedIn(_, let notice?) where isSigningIn && notice.recovery == .signIn: signIn(notice)
      case .signedIn(let content, let notice):
        Noticed(notice, button: .resolving(notice)) {
          await resolve(notice?.recovery)
        } content: {
          signedIn(content)
        }
      // A sign-in takes the place of a session that cannot be read.
      case .locked(let wording, .signIn): Noticed(wording) { signedOut() }
      case .locked(let wording, .fixConfiguration):
        ObstacleView(wording, systemImage: "lock", button: nil) {
        } signOut: {
          await model.signOut()
        }
      case .locked(let wording, _):
        ObstacleView(wording, systemImage: "lock", button: wording.remedy) { await model.retry() }
      case .failed(_, let wording, .signIn) where isSigningIn: signIn(wording)
      case .failed(_, let wording, let recovery):
        ObstacleView(wording, systemImage: "exclamationmark.triangle", button: .resolving(wording)) {
          await resolve(recovery)
        } signOut: {
          await model.signOut()
        }
      }
    }
  }

  /// A sign-in replaces a session that cannot be refreshed; a retry leads back.
  private func signIn(_ wording: Wording) -> some View {
    Noticed(wording) {
      isSigningIn = false
      await model.retry()
    } content: {
      signedOut()
    }
    .onDisappear { isSigningIn = false }
  }

  private func resolve(_ recovery: Recovery?) async {
    if recovery == .signIn { isSigningIn = true } else { await model.retry() }
  }
}

extension Word {
  /// Loading may succeed at any time, also where the user can do nothing for it.
  fileprivate static func resolving(_ wording: Wording?) -> Word { wording?.remedy ?? .tryAgain }
}

#if DEBUG
struct AuthGuardView_Previews: PreviewProvider {
  static var previews: some View {
    ObstacleView(Wording(.errorLocked), systemImage: "lock", button: .tryAgain) {}
      .previewDisplayName("Locked")
    ObstacleView(Wording(.errorUnreachable), systemImage: "exclamationmark.triangle", button: .tryAgain) {
    } signOut: {
    }
    .previewDisplayName("Content not loaded")
    WaitingView(.restoring).previewDisplayName("Restoring")
    Noticed(Wording(.reasonExpired)) { AuthView(SessionManager.preview(signedInAs: nil, content: ())) }
      .previewDisplayName("Signed out, expired")
    Noticed(Wording(.offline)) { Text(verbatim: "Ada") }.previewDisplayName("Signed in, offline")
    EndNotice(UpcomingEnd(reason: .idle, at: UnixTime(Date.now.addingTimeInterval(60)))) {}
      .previewDisplayName("Near its end")
    CoverView(cover: .locked, failure: Wording(.errorPresence), isStuck: true) {
    } signOut: {
    }
    .previewDisplayName("Covered")
  }
}
#endif
#endif
