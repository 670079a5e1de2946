#if canImport(SwiftUI)
public import Handstamp
import HandstampCore
public import SwiftUI

/// Stands in front of an app: shows its content to whoever is signed in, a sign-in to everybody else, and says what is in
/// the way when neither is known.
///
/// ```swift
/// AuthGuardView(session) { content in
///   Home(content)
/// } signedOut: {
///   AuthView(session)
/// }
/// .environment(session)
/// ```
/// When the app comes to the front, what waits for its time goes at once.
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
    // Another account's session is another guard: nothing of the former one is shown.
    AuthGuardBody(session: session, signedIn: signedIn, signedOut: signedOut)
      .id(ObjectIdentifier(session))
  }
}

private struct AuthGuardBody<Content: Sendable, SignedIn: View, SignedOut: View>: View {
  @State private var model: AuthGuardModel<Content>
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
      Task { await session.controller.nudge() }
    }
  }
}

extension Word {
  fileprivate init(_ recovery: Recovery) { self = recovery == .confirmPresence ? .unlock : .tryAgain }
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
