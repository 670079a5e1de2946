package import Foundation
public import Handstamp
public import Observation

/// The state of ``AuthGuardView``.
public enum AuthGuardState<Content: Sendable>: Sendable {
  /// It is not known yet whether a user is signed in.
  case restoring
  /// No user is signed in, with a reason where one is worth showing.
  case signedOut(Wording?)
  /// Unknown, because the device is locked or its storage fails. The user was not signed out. With ``Recovery/signIn``
  /// the session is damaged, and a sign-in takes its place; with ``Recovery/fixConfiguration`` it is of another
  /// server, and ``AuthGuardModel/signOut()`` ends it. A missing key and a newer format offer neither: a sign-out would destroy
  /// what can be recovered.
  case locked(Wording, Recovery?)
  /// A user is signed in, and the app's content is loading.
  case loading(SignedIn)
  /// A user is signed in. If there is a notice, the content may be out of date.
  case signedIn(Content, notice: Wording?)
  /// A user is signed in, but the app's content could not be loaded.
  case failed(SignedIn, Wording, Recovery?)
}

/// Decides what an app shows: its content, a sign-in, or an obstacle. Also whether its content is covered, and what counts as
/// use of the session.
@MainActor @Observable
public final class AuthGuardModel<Content: Sendable> {
  /// Decides what covers the content; `nil` without a lock.
  @ObservationIgnored public let covering: CoverModel?
  @ObservationIgnored private let session: SessionManager<Content>
  /// Whether Apple still lets a user's credential be used; `nil` where Apple cannot be asked.
  @ObservationIgnored private let isAppleValid: (@Sendable (String) async -> Bool)?
  @ObservationIgnored private let preferences: UserDefaults
  /// The last content loaded, and its account: content on display stays visible when the device goes offline.
  @ObservationIgnored private var last: (owner: Owner, content: Content)?

  /// The account; the session, where the server did not say whose it is.
  private enum Owner: Equatable {
    case account(AccountID)
    case session(SessionID)

    init(_ facts: SignedIn) { self = facts.profile.map { .account($0.id) } ?? .session(facts.id) }
  }

  /// Creates the model.
  ///
  /// - Parameters:
  ///   - session: the session.
  ///   - lock: the lock whose closing covers the content, usually the session's. `nil` (the default) covers it never.
  public convenience init(_ session: SessionManager<Content>, lock: PresenceLock? = nil) {
    #if canImport(AuthenticationServices) && !os(watchOS)
    self.init(session, lock: lock, isAppleValid: AppleSheet.isValid)
    #else
    self.init(session, lock: lock, isAppleValid: nil)
    #endif
  }

  package init(
    _ session: SessionManager<Content>, lock: PresenceLock?, isAppleValid: (@Sendable (String) async -> Bool)?,
    preferences: UserDefaults = .standard
  ) {
    self.session = session
    self.preferences = preferences
    self.isAppleValid = isAppleValid
    covering = lock.map { CoverModel($0) }
  }

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

  /// The session that is shown.
  var shown: SessionID? { facts?.id }

  /// Signs out of a session that began with Apple, if the user has taken the app off Apple's list since, in the settings of the device.
  /// For each session that is shown.
  func checkApple() async {
    guard let isAppleValid, let facts, let account = facts.profile?.id,
      let kept = preferences.string(forKey: account.appleUserKey), let end = kept.firstIndex(of: " "),
      kept[..<end] == facts.id.rawValue
    else { return }
    let isValid = await isAppleValid(String(kept[kept.index(after: end)...]))
    if !isValid, shown == facts.id { await session.signOut(reason: .endedAtProvider("Apple")) }
  }

  // MARK: Lock and limits

  /// The cover of the content; `nil` if it is visible, and while no session is in use.
  public var cover: CoverModel.Cover? { facts == nil ? nil : covering?.cover }

  /// Whether to call ``unlock()`` now, without a button, see ``CoverModel/asksByItself``.
  public var asksByItself: Bool { cover != nil && covering?.asksByItself == true }

  /// The end of the session by a limit of its policy, while it is near; `nil` otherwise. ``Wording/init(_:at:)`` has the text.
  public var upcomingEnd: UpcomingEnd? { facts?.upcomingEnd }

  private var facts: SignedIn? { session.snapshot.session.value ?? nil }

  /// The user did something: a touch, a key, a movement of the pointer, scrolling. It puts off an end by inactivity. Cheap
  /// enough for each event.
  ///
  /// No effect while the content is covered: it may be another person's touch. Do not call it for a timer, a request or a
  /// video that plays: an app in which these count calls the session's `updateSessionActivity()`.
  public func reportActivity() {
    if cover == nil { session.updateSessionActivity() }
  }

  /// The app has entered a phase. Call it for the first one, too. To become active is use of the session, unless the content is
  /// covered.
  public func enter(_ phase: CoverModel.Phase) {
    covering?.enter(phase)
    if phase == .active { reportActivity() }
  }

  /// Asks the user to confirm their presence, for the button of the cover. Content whose loading was refused without that is
  /// loaded then.
  public func unlock() async {
    guard let covering else { return }
    await covering.unlock()
    guard !covering.isLocked else { return }
    session.updateSessionActivity()
    if case .failure(.presence) = session.snapshot.content { session.refreshContent() }
  }
}

extension AccountID {
  /// The preference with the session that began with Apple, a space, and Apple's ID of the user. A sign-out removes it.
  var appleUserKey: String { preferencesPrefix + "apple_user" }
}
