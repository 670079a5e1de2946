public import Handstamp
import HandstampCore
public import Observation

/// What ``AuthGuardView`` shows.
public enum AuthGuardState<Content: Sendable>: Sendable {
  /// It is not known yet whether somebody is signed in.
  case restoring
  /// Nobody is signed in; why, if that is worth saying.
  case signedOut(Wording?)
  /// It cannot be known now: the device is locked, or its storage is in trouble. Nobody was signed out.
  case locked(Wording, Recovery)
  /// Somebody is signed in, and what the app needs is loading.
  case loading(Profile)
  /// Somebody is signed in; with a notice, what is shown may be old.
  case signedIn(Content, notice: Wording?)
  /// Somebody is signed in, and what the app needs could not be loaded.
  case failed(Profile, Wording, Recovery)
}

/// Decides what stands in front of an app: its content, a sign-in, or what is in the way.
@MainActor @Observable
public final class AuthGuardModel<Content: Sendable> {
  @ObservationIgnored private let session: SessionManager<Content>
  /// The last content that was loaded, and for whom: being offline takes away nothing that was shown.
  @ObservationIgnored private var last: (account: AccountID, content: Content)?

  public init(_ session: SessionManager<Content>) { self.session = session }

  public var state: AuthGuardState<Content> { state(of: session.snapshot) }

  func state(of snapshot: SessionManager<Content>.Snapshot) -> AuthGuardState<Content> {
    switch snapshot.session {
    case .notInitiated, .loading: return .restoring
    case .failure(let error): return .locked(Wording(error) ?? Wording(.errorStorage), error.recovery)
    case .success(nil):
      last = nil
      return .signedOut(snapshot.endReason.flatMap { Wording($0) })
    case .success(let profile?):
      if last?.account != profile.id { last = nil }
      return state(of: snapshot.content, for: profile)
    }
  }

  private func state(of content: Loadable<Content>, for profile: Profile) -> AuthGuardState<Content> {
    switch content {
    case .success(let content):
      last = (profile.id, content)
      return .signedIn(content, notice: nil)
    case .notInitiated, .loading: return last.map { .signedIn($0.content, notice: nil) } ?? .loading(profile)
    case .failure(let error):
      let wording = Wording(error) ?? Wording(.errorUnreachable)
      // Who must show that they are there sees nothing before.
      if case .presence = error { return .failed(profile, wording, error.recovery) }
      guard let last else { return .failed(profile, wording, error.recovery) }
      if case .unreachable = error { return .signedIn(last.content, notice: Wording(.offline)) }
      return .signedIn(last.content, notice: wording)
    }
  }

  /// Tries again whatever is in the way: the storage, or the content.
  public func retry() async {
    switch session.snapshot.session {
    case .failure: await session.restoreSession()
    case .success(.some): session.refreshContent()
    case .notInitiated, .loading, .success(nil): break
    }
  }

  /// Out of a session whose content cannot be loaded.
  public func signOut() async { await session.signOut() }
}
