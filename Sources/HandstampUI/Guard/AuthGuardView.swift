#if canImport(SwiftUI)
public import Handstamp
import HandstampCore
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
public struct AuthGuardView<Content: Sendable, SignedIn: View, SignedOut: View>: View {
  private let session: SessionManager<Content>
  private let signedIn: (Content) -> SignedIn
  private let signedOut: () -> SignedOut

  public init(
    _ session: SessionManager<Content>, @ViewBuilder signedIn: @escaping (Content) -> SignedIn,
    @ViewBuilder signedOut: @escaping () -> SignedOut
  ) {
    self.session = session
    self.signedIn = signedIn
    self.signedOut = signedOut
  }

  public var body: some View {
    // A new identity for each session, so that nothing of the previous account is shown.
    AuthGuardBody(session: session, signedIn: signedIn, signedOut: signedOut)
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
    session: SessionManager<Content>, signedIn: @escaping (Content) -> SignedIn,
    signedOut: @escaping () -> SignedOut
  ) {
    _model = State(initialValue: AuthGuardModel(session))
    self.session = session
    self.signedIn = signedIn
    self.signedOut = signedOut
  }

  var body: some View {
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
    .onChange(of: phase) { _, new in
      guard new == .active else { return }
      Task { await session.retryPendingWork() }
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
  }
}
#endif
#endif
