public import Foundation
import HandstampCore
import HandstampSupport

/// The user's account functions, of an ``AccountBackend``. At any other backend, each throws ``SessionError/unsupported(_:)``.
extension SessionManager {
  private nonisolated var accountBackend: any AccountBackend {
    get throws(SessionError) {
      guard let backend = backend as? any AccountBackend else { throw .unsupported("account functions") }
      return backend
    }
  }

  /// Creates an account and signs in, unless the address must be confirmed first, see ``SignUpResult/confirmationSent``. For a guest
  /// it is an upgrade of the guest's account, see ``upgrade(by:)``.
  ///
  /// - Parameters:
  ///   - username: the display name, ``Profile/name``. The user signs in with the email address.
  ///   - remember: `false` keeps the session out of the vault, see ``SessionController/signIn(remember:_:)``. Default `true`.
  /// - Throws: ``SessionError/refused(code:detail:)`` if the server refuses, such as with `email_taken` or `weak_password`.
  @discardableResult
  public func signUp(
    email: String, password: String, username: String, remember: Bool = true
  ) async throws(SessionError) -> SignUpResult {
    if await isGuest {
      return try await upgrade(by: .password(email: email, password: Secret(password), username: username))
    }
    let claim = SignInClaim(.signUp, as: email)
    return try await working { () async throws(SessionError) in
      try await controller.signedUp(by: claim, remember: remember) { () async throws(SessionError) in
        try await accountBackend.signUp(email: email, password: Secret(password), username: username)
      }
    }
  }

  /// Completes a sign-up or an upgrade after ``SignUpResult/confirmationSent``: sets the account's password, and signs in.
  ///
  /// - Parameters:
  ///   - code: the code in the mail, or in its link.
  ///   - password: the password of the account. Where addresses are confirmed, the one of ``signUp(email:password:username:remember:)``
  ///     is not used: only the user who reads the address's mail chooses it.
  ///   - remember: `false` keeps the session out of the vault, see ``SessionController/signIn(remember:_:)``. Default `true`.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `link_invalid` if the code is unknown, used or expired, or with
  ///   `weak_password`; then the code stays valid.
  public func confirmSignUp(
    _ code: String, password: String, remember: Bool = true
  ) async throws(SessionError) {
    try await signIn(by: SignInClaim(.signUp), remember) { () async throws(SessionError) in
      try await accountBackend.confirmSignUp(Secret(code), password: Secret(password))
    }
  }

  /// Signs in with an email address and a password, or with a user name at a ``CredentialBackend``.
  ///
  /// - Parameters:
  ///   - code: the code of an authenticator app, after a refusal with `second_factor_required`. Default: none.
  ///   - method: what the audit log records: `.biometric` for a password that the device has kept. Default `.password`.
  ///   - remember: `false` keeps the session out of the vault, see ``SessionController/signIn(remember:_:)``. Default `true`.
  /// - Throws: ``SessionError/refused(code:detail:)`` if the server refuses the sign-in, such as with `wrong_credentials`.
  public func signIn(
    email: String, password: String, code: String? = nil, by method: SignInMethod = .password, remember: Bool = true
  ) async throws(SessionError) {
    try await signIn(by: SignInClaim(method, as: email), remember) { () async throws(SessionError) in
      if let backend = backend as? any CredentialBackend {
        return try await backend.signIn(email, Secret(password))
      }
      return try await accountBackend.signIn(
        email: email, password: Secret(password), code: code.map { Secret($0) })
    }
  }

  /// Signs in on the server's own page.
  ///
  /// - Parameter remember: as for the others. Default `true`.
  /// - Throws: ``SessionError/cancelled`` if the user closes the page; ``SessionError/unsupported(_:)`` without a ``BrowserBackend``.
  public func signInWithBrowser(_ page: BrowserPage, remember: Bool = true) async throws(SessionError) {
    guard let backend = backend as? any BrowserBackend else { throw .unsupported("sign-in on a page") }
    try await signIn(by: SignInClaim(.browser), remember) { () async throws(SessionError) in
      try await backend.signIn(on: page)
    }
  }

  /// The ways to sign in at ``backend``.
  public var offer: SignInOffer { SignInOffer(backend) }

  /// Creates a guest account and signs in to it.
  ///
  /// - Throws: ``SessionError/unsupported(_:)`` if the server has no guest accounts.
  public func signInAnonymously() async throws(SessionError) {
    try await signIn(by: SignInClaim(.guest), true) { () async throws(SessionError) in
      try await accountBackend.signInAnonymously()
    }
  }

  /// Turns the guest account in use into a full one with the same ID, so that its data stays, at the server and here. The new
  /// session replaces the guest's; no clean-up step runs.
  ///
  /// - Returns: ``SignUpResult/confirmationSent`` if the address must be confirmed first. Until then the guest's session stays
  ///   in use, and the account a guest's.
  /// - Throws: ``SessionError/refused(code:detail:)`` if the server refuses, such as with ``GuestUpgrade/taken`` or `not_anonymous`.
  @discardableResult
  public func upgrade(by way: GuestUpgrade) async throws(SessionError) -> SignUpResult {
    try await working { () async throws(SessionError) in
      let token = try await controller.token()
      // A guest who is not remembered stays in memory.
      let remember = await controller.machine.isRemembered
      return try await controller.signedUp(by: way.claim, remember: remember) { () async throws(SessionError) in
        try await accountBackend.upgrade(by: way, token: token)
      }
    }
  }

  /// Whether a guest's session is in use, as the vault has it.
  private var isGuest: Bool {
    get async { await restoreSession().value??.profile?.isAnonymous ?? false }
  }

  /// Signs in with the credential of Sign in with Apple.
  ///
  /// - Parameters:
  ///   - upgradesGuest: whether a guest's account becomes that of the credential, see ``upgrade(by:)``: refused with `identity_taken` if
  ///     there is one. `false` signs in to that one. Default `true`.
  ///   - remember: `false` keeps the session out of the vault, see ``SessionController/signIn(remember:_:)``. Default `true`.
  /// - Throws: ``SessionError/unsupported(_:)`` if the server does not offer Sign in with Apple.
  public func signInWithApple(
    _ credential: AppleCredential, upgradesGuest: Bool = true, remember: Bool = true
  ) async throws(SessionError) {
    if upgradesGuest, await isGuest {
      try await upgrade(by: .apple(credential))
      return
    }
    try await signIn(by: SignInClaim(.apple), remember) { () async throws(SessionError) in
      try await accountBackend.signInWithApple(credential)
    }
  }

  /// Signs in with a passkey.
  ///
  /// - Parameters:
  ///   - remember: `false` keeps the session out of the vault, see ``SessionController/signIn(remember:_:)``. Default `true`.
  ///   - ask: passes the server's options to the device, and returns its answer, as
  ///     ``AccountBackend/signInWithPasskey(asking:)`` says; on Apple's systems `PasskeySheet` of HandstampUI.
  /// - Throws: ``SessionError/unsupported(_:)`` if the server has no passkeys.
  public func signInWithPasskey(
    remember: Bool = true, asking ask: @escaping PasskeyPrompt
  ) async throws(SessionError) {
    guard let server else {
      return try await signIn(by: SignInClaim(.passkey), remember) { () async throws(SessionError) in
        try await accountBackend.signInWithPasskey(asking: ask)
      }
    }
    // The sign-in begins with the answer: a keyboard may offer a passkey for as long as a form is shown.
    let answer = try await server.passkeyAnswer(by: ask)
    try await signIn(by: SignInClaim(.passkey), remember) { () async throws(SessionError) in
      try await server.signIn(byPasskey: answer)
    }
  }

  /// Requests a mail with a link or a code that resets the password. Also succeeds for an address without an account, which
  /// gets no such mail.
  ///
  /// At Handstamp's own server, the app completes the reset with the code:
  /// ``ServerBackend/confirmPasswordReset(_:newPassword:)``, within 30 min. That ends every session of the account, this
  /// device's included.
  public func resetPassword(email: String) async throws(SessionError) {
    try await working { () async throws(SessionError) in try await accountBackend.requestPasswordReset(email: email) }
  }

  // MARK: The owner's proof

  /// Returns how the account's owner can prove to be that; empty for a guest.
  public func proofs() async throws(SessionError) -> Set<Proof.Kind> {
    try await working { () async throws(SessionError) in
      try await accountBackend.proofs(token: try await controller.token())
    }
  }

  /// Proves that the user is the account's owner, after a function was refused with `reauthentication_required`.
  ///
  /// - Returns: the token of the proof.
  public func reauthenticate(_ proof: Proof) async throws(SessionError) -> AccessToken {
    try await working { () async throws(SessionError) in
      try await accountBackend.reauthenticate(proof, token: try await controller.token())
    }
  }

  /// Mails a code for ``Proof/mailedCode(_:)`` to the account's address.
  public func mailProof() async throws(SessionError) {
    try await working { () async throws(SessionError) in
      try await accountBackend.mailProof(token: try await controller.token())
    }
  }

  /// Changes the account's password, or sets its first one.
  ///
  /// - Parameters:
  ///   - endingOthers: whether the account's sessions on other devices end.
  ///   - proof: that the user is the owner, of one of ``proofs()``.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `wrong_credentials` if the password is wrong, and as ``proofs()`` says.
  public func changePassword(
    to new: String, endingOthers: Bool = true, proof: Proof?
  ) async throws(SessionError) {
    try await working { () async throws(SessionError) in
      try await accountBackend.changePassword(
        to: Secret(new), endingOthers: endingOthers, proof: proof, token: try await controller.token())
    }
  }

  /// Deletes the account at the server, then signs out here, as ``signOut(_:reason:)`` does with ``SignOutPlan/everything``: it
  /// runs every clean-up step. If another session has replaced this one meanwhile, that continues, and no step runs.
  ///
  /// - Parameter proof: that the user is the owner, of one of ``proofs()``; `nil` for a guest.
  /// - Throws: ``SessionError`` if the server refused, or its response was lost; the session continues. In the second case the
  ///   account may be deleted, and the session then ends at the next refresh.
  @discardableResult
  public func deleteAccount(proof: Proof? = nil) async throws(SessionError) -> SignOutReport {
    try await working { () async throws(SessionError) in
      let token = try await controller.token()
      let state = controller.state
      try await accountBackend.deleteAccount(proof: proof, token: token)
      // Not a session that replaced it meanwhile.
      if case .signedIn(let before) = state, case .signedIn(let now) = controller.state, before.id != now.id {
        return SignOutReport()
      }
      return await controller.signOut(.everything, reason: .accountClosed)
    }
  }

  /// Signs out on all devices: asks the server to end the account's other sessions, waiting at most 10 s for its response, then
  /// signs out here, as ``signOut(_:reason:)`` does, even if the server did not respond.
  ///
  /// - Returns: the report of the sign-out here. Its ``SignOutReport/otherSessionsError`` is set if the server did not confirm
  ///   the end of the other sessions: they may continue, and the request is not retried.
  @discardableResult
  public func signOutEverywhere(_ plan: SignOutPlan = .standard) async -> SignOutReport {
    begin()
    let failure = await endOthers(within: .seconds(10))
    var report = await controller.signOut(plan)
    await end()
    report.otherSessionsError = failure
    return report
  }

  private func endOthers(within limit: Duration) async -> SessionError? {
    await withTaskGroup(of: SessionError?.self) { [controller] group in
      group.addTask {
        do throws(SessionError) {
          try await self.accountBackend.endOtherSessions(token: try await controller.token())
          return nil
        } catch {
          return error
        }
      }
      group.addTask {
        try? await controller.clock.sleep(for: limit)
        return .requestFailed(.network(.timedOut))
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }
}

/// The result of a sign-up.
public enum SignUpResult: Sendable, Hashable {
  /// The account exists, and its session is in use.
  case signedIn(SignedIn)
  /// The address must be confirmed first; the state is unchanged. A server that requires this responds so for every address,
  /// whether or not a mail was sent, so as not to reveal which addresses have an account. At Handstamp's own server, an address
  /// with an account gets a mail that says so; any other gets a code, which the app redeems for the session with
  /// ``SessionManager/confirmSignUp(_:password:remember:)``.
  case confirmationSent
}

extension SessionManager {
  /// Registers this device for push messages: the server gets the token for the session in use and for each new one, after a sign-in,
  /// an upgrade or a launch, also of the program's other accounts.
  ///
  /// ```swift
  /// func application(_ app: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
  ///   Task { try? await session.registerPushToken(token) }
  /// }
  /// ```
  /// The token is remembered in `UserDefaults.standard`, one for the installation, across sign-outs and also while no user is signed
  /// in. One that could not be sent is sent again by ``retryPendingWork()`` and at the next launch. The server forgets it with its
  /// session. An account whose session has not been requested in this launch, see ``Accounts/session(of:)``, gets it when it is.
  ///
  /// - Parameter token: as the system returned it. The server gets it in lower-case hexadecimal digits, as Apple's service expects
  ///   them. `nil` unregisters the device.
  /// - Throws: ``SessionError/unsupported(_:)`` without an ``AccountBackend``, and then nothing is remembered. Otherwise why the token
  ///   of the session in use could not be sent.
  public func registerPushToken(_ token: Data?) async throws(SessionError) { try await push.register(token) }
}

/// Passes the installation's push token on to the server of one session manager, for each of its sessions once.
@MainActor package final class PushDelivery {
  /// The user defaults are first read for a backend that takes push tokens: on Linux they cost a command's start a fortieth.
  package lazy var tokens = PushTokens.standard
  private let controller: SessionController
  private let backend: (any AccountBackend)?
  /// The token that the server has, and for which session.
  private var delivered: (session: SessionID, token: Secret)?
  /// One after the other, so that no older token follows a newer one.
  private var last: Task<Void, Never>?

  init(of controller: SessionController, at backend: any Backend) {
    self.controller = controller
    self.backend = backend as? any AccountBackend
  }

  func register(_ token: Data?) async throws(SessionError) {
    guard backend != nil else { throw .unsupported("account functions") }
    tokens.remember(token)
    for other in tokens.receivers where other !== self { other.begin() }
    try await deliver()
  }

  func sessionBegan() {
    guard backend != nil else { return }
    tokens.add(self)
    delivered = nil
    begin()
  }

  private func begin() {
    if tokens.token != nil { Task { try? await deliver() } }
  }

  private func deliver() async throws(SessionError) {
    let turn = Task { [last] () -> SessionError? in
      await last?.value
      do throws(SessionError) {
        try await send()
        return nil
      } catch {
        return error
      }
    }
    last = Task { _ = await turn.value }
    if let error = await turn.value { throw error }
  }

  private func send() async throws(SessionError) {
    guard let backend, let token = tokens.token, case .signedIn(let facts) = controller.state,
      delivered?.session != facts.id || delivered?.token != token
    else { return }
    do throws(SessionError) {
      // Without a presence check: it is no call of the user's.
      guard let access = try await controller.unguarded(SessionMachine.Need()).token else {
        throw .unsupported("push tokens (the session uses cookies)")
      }
      try await backend.registerPushToken(token.isEmpty ? nil : token, token: access)
      delivered = (facts.id, token)
    } catch {
      controller.retryOnce { [weak self] in await self?.begin() }
      if case .sessionEnded(let reason) = error { await controller.endHere(facts.id, reason: reason) }
      throw error
    }
  }
}

/// The push token of this installation, for all accounts of the program.
@MainActor package final class PushTokens {
  package static let standard = PushTokens(.standard)
  private static let key = "org.handstamp.push-token"

  private struct Receiver {
    weak var delivery: PushDelivery?
  }

  private let preferences: UserDefaults
  private var known: [Receiver] = []

  package init(_ preferences: UserDefaults) { self.preferences = preferences }

  /// In hexadecimal digits; empty once it was unregistered, of which sessions may still have to be told. `nil` if there never was one.
  package var token: Secret? { preferences.string(forKey: PushTokens.key).map { Secret($0) } }

  fileprivate func remember(_ token: Data?) {
    if token == nil, self.token == nil { return }
    preferences.set(Hexadecimal.text(token ?? Data()), forKey: PushTokens.key)
  }

  /// Those that have shown a session.
  fileprivate var receivers: [PushDelivery] { known.compactMap(\.delivery) }

  fileprivate func add(_ delivery: PushDelivery) {
    known.removeAll { $0.delivery == nil || $0.delivery === delivery }
    known.append(Receiver(delivery: delivery))
  }
}
