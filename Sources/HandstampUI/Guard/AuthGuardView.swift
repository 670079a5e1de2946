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
public struct AuthGuardView<Server: Backend, Content: Sendable, SignedIn: View, SignedOut: View>: View {
  private let session: SessionManager<Server, Content>
  private let signedIn: (Content) -> SignedIn
  private let signedOut: () -> SignedOut

  public init(
    _ session: SessionManager<Server, Content>, @ViewBuilder signedIn: @escaping (Content) -> SignedIn,
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

private struct AuthGuardBody<Server: Backend, Content: Sendable, SignedIn: View, SignedOut: View>: View {
  @State private var model: AuthGuardModel<Server, Content>
  @Environment(\.scenePhase) private var phase
  private let session: SessionManager<Server, Content>
  private let signedIn: (Content) -> SignedIn
  private let signedOut: () -> SignedOut

  init(
    session: SessionManager<Server, Content>, signedIn: @escaping (Content) -> SignedIn,
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
      case .signedIn(let content, let notice): Noticed(notice) { signedIn(content) }
      case .locked(let wording, let recovery):
        ObstacleView(wording, systemImage: "lock", button: Word(recovery)) { await model.retry() }
      case .failed(_, let wording, let recovery):
        ObstacleView(wording, systemImage: "exclamationmark.triangle", button: Word(recovery)) {
          await model.retry()
        } signOut: {
          await model.signOut()
        }
      }
    }
    .onChange(of: phase) { _, new in
      guard new == .active else { return }
      Task { await session.controller.retryPendingWork() }
    }
  }
}

extension Word {
  fileprivate init(_ recovery: Recovery?) { self = recovery == .confirmPresence ? .unlock : .tryAgain }
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
    Noticed(Wording(.reasonExpired)) { AuthView(PreviewAuth()) }.previewDisplayName("Signed out, expired")
    Noticed(Wording(.offline)) { Text(verbatim: "Ada") }.previewDisplayName("Signed in, offline")
  }
}
#endif
#endif
