public import Handstamp
import HandstampCore
public import Observation

/// The state of ``AuthGuardView``.
public enum AuthGuardState<Content: Sendable>: Sendable {
  /// It is not known yet whether a user is signed in.
  case restoring
  /// No user is signed in, with a reason where one is worth showing.
  case signedOut(Wording?)
  /// Unknown, because the device is locked or its storage fails. The user was not signed out. With ``Recovery/signIn``
  /// the session is damaged, and a sign-in takes its place; with ``Recovery/fixConfiguration`` it is of another
  /// server, and ``AuthGuardModel/signOut()`` ends it.
  case locked(Wording, Recovery?)
  /// A user is signed in, and the app's content is loading.
  case loading(SignedIn)
  /// A user is signed in. If there is a notice, the content may be out of date.
  case signedIn(Content, notice: Wording?)
  /// A user is signed in, but the app's content could not be loaded.
  case failed(SignedIn, Wording, Recovery?)
}

/// Decides what an app shows: its content, a sign-in, or an obstacle.
@MainActor @Observable
public final class AuthGuardModel<Content: Sendable> {
  @ObservationIgnored private let session: SessionManager<Content>
  /// The last content loaded, and its account: content on display stays visible when the device goes offline.
  @ObservationIgnored private var last: (owner: Owner, content: Content)?

  /// The account; the session, where the server did not say whose it is.
  private enum Owner: Equatable {
    case account(AccountID)
    case session(SessionID)

    init(_ facts: SignedIn) { self = facts.profile.map { .account($0.id) } ?? .session(facts.id) }
  }

  public init(_ session: SessionManager<Content>) { self.session = session }

  public var state: AuthGuardState<Content> { state(of: session.snapshot) }

  func state(of snapshot: SessionManager<Content>.Snapshot) -> AuthGuardState<Content> {
    switch snapshot.session {
    case .notInitiated, .loading: return .restoring
    case .failure(let error): return .locked(Wording(error) ?? Wording(.errorStorage), error.recovery)
    case .success(nil):
      last = nil
      return .signedOut(snapshot.endReason.flatMap { Wording($0) })
    case .success(let facts?):
      if last?.owner != Owner(facts) { last = nil }
      return state(of: snapshot.content, for: facts)
    }
  }

  private func state(of content: Loadable<Content>, for facts: SignedIn) -> AuthGuardState<Content> {
    switch content {
    case .success(let content):
      last = (Owner(facts), content)
      return .signedIn(content, notice: nil)
    case .notInitiated, .loading: return last.map { .signedIn($0.content, notice: nil) } ?? .loading(facts)
    case .failure(let error):
      let wording = Wording(error) ?? Wording(.errorUnreachable)
      // Content stays hidden until presence is confirmed.
      if case .presence = error { return .failed(facts, wording, error.recovery) }
      guard let last else { return .failed(facts, wording, error.recovery) }
      if case .requestFailed = error, case .retry? = error.recovery {
        return .signedIn(last.content, notice: Wording(.offline, recovery: error.recovery))
      }
      return .signedIn(last.content, notice: wording)
    }
  }

  /// Retries the failed step: reading the storage, or loading the content.
  public func retry() async {
    switch session.snapshot.session {
    case .failure: await session.restoreSession()
    case .success(.some): session.refreshContent()
    case .notInitiated, .loading, .success(nil): break
    }
  }

  /// Signs out of a session whose content cannot be loaded, or which is of another server.
  public func signOut() async { await session.signOut() }
}
