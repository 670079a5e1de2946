public import Foundation
public import Handstamp
import HandstampSupport
public import Observation

/// The model of ``AuthView``: sign-in, also with a second factor or on the server's page, sign-up and its confirmation, password reset,
/// guest access, Sign in with Apple and passkeys.
///
/// For a guest, a sign-up makes the guest's account a full one, with the same ID. Before a sign-in to an account that exists would end the
/// guest's session, the user is asked, see ``question``.
///
/// An operation in progress ends, or is abandoned with ``cancel()``: then the form is usable again immediately, whether
/// or not the server ever answers.
@MainActor @Observable
public final class AuthViewModel {
  /// The form that is shown. Until it or a field is set, it is ``Form/signUp`` during a guest's session, whenever that is restored, and
  /// otherwise ``Form/signIn``.
  public var form: Form {
    get { chosenForm ?? (offered.accounts && service.isAnonymous ? .signUp : .signIn) }
    set {
      if newValue != form { (failure, notice) = (nil, nil) }
      chosenForm = newValue
    }
  }
  /// `nil` until the form or a field was set.
  private var chosenForm: Form?
  /// The address, or the user name where ``SignInOffer/identifier`` says so. Begins as the last one that has signed in here and wanted to
  /// be remembered.
  public var email: String { didSet { if email != oldValue { keepForm() } } }
  public var password = "" { didSet { if password != oldValue { keepForm() } } }
  public var username = "" { didSet { if username != oldValue { keepForm() } } }
  /// The code of a mail, for ``Form/confirm``, or of an authenticator app, for ``Form/secondFactor``.
  public var code = ""
  /// If `false`, the session ends with the process. Begins as it was at the last sign-in.
  public var remembers: Bool { didSet { if remembers != oldValue, offer != nil { renewOffer() } } }

  /// The operation in progress, or `nil`.
  public private(set) var running: Action?
  public private(set) var failure: Failure?
  public private(set) var notice: Notice?
  /// The decision that the user has to make; ``signInThere()`` or ``stayGuest()`` answer it.
  public private(set) var question: Question?

  /// Called when a user has signed in, such as to close a sheet.
  @ObservationIgnored public var onSignIn: (@MainActor () -> Void)?

  /// The ways to sign in at the backend.
  public var offered: SignInOffer { service.offer }

  /// Whether Sign in with Apple is available.
  public var offersApple: Bool { apple != nil && offered.accounts }

  /// Whether passkeys are available.
  public var offersPasskeys: Bool { passkeys != nil && offered.accounts }

  /// Whether a guest's account can get a passkey in place of a password.
  public var offersPasskeySignUp: Bool { offersPasskeys && form == .signUp && service.isAnonymous }

  /// Whether the device keeps a password that it releases once the user has confirmed their presence. Known from ``findBiometric()`` on.
  public private(set) var offersBiometric = false
  /// Whether a sign-in with a password lets the device keep it for ``signInWithBiometric()``.
  public var keepsBiometric = false
  /// Whether to ask for ``keepsBiometric``.
  public var canKeepBiometric: Bool { biometric != nil && !offersBiometric && form == .signIn }

  /// Whether the server's own page is available.
  public var offersBrowser: Bool { page != nil && offered.browser }

  @ObservationIgnored private let service: any AuthService
  @ObservationIgnored private let apple: (any AppleCredentialSource)?
  @ObservationIgnored private let passkeys: (any PasskeySource)?
  @ObservationIgnored private let page: BrowserPage?
  @ObservationIgnored private let biometric: BiometricSecret?
  @ObservationIgnored private let preferences: UserDefaults
  /// Whether the user has chosen to sign in to an account that exists, although a guest is signed in.
  @ObservationIgnored private var leavesGuest = false
  /// The operation of ``signInThere()``.
  @ObservationIgnored private var chosen: (@MainActor (AuthViewModel) -> Task<Void, Never>?)?
  @ObservationIgnored private var task: Task<Void, Never>?
  /// The offer above the keyboard that the user has not taken.
  @ObservationIgnored private var offer: Task<Void, Never>?
  /// Whether the form is shown, so that passkeys are offered again after a failure.
  @ObservationIgnored private var offers = false
  /// The passkey that the device may add after a sign-in with a password. It outlives the form.
  @ObservationIgnored package private(set) var upgrade: Task<Void, Never>?
  /// The operation that the state belongs to; results of earlier ones are discarded.
  @ObservationIgnored private var run: UInt64 = 0

  /// - Parameters:
  ///   - apple: Shows Apple's sheet; `nil` disables Sign in with Apple.
  ///   - passkeys: The device's passkeys; `nil` disables them.
  ///   - page: The way to the server's own page, for a backend that has one; `nil` disables it.
  ///   - biometric: Where the device keeps the address and the password of a user who wants to sign in by biometry; `nil` disables it.
  ///   - preferences: Where the last address, and whether to remember a session, are kept: they are no secrets.
  public init(
    _ service: any AuthService, apple: (any AppleCredentialSource)? = nil, passkeys: (any PasskeySource)? = nil,
    page: BrowserPage? = nil, biometric: BiometricSecret? = nil, preferences: UserDefaults = .standard
  ) {
    self.service = service
    self.apple = apple
    self.passkeys = passkeys
    self.page = page
    self.biometric = biometric
    self.preferences = preferences
    email = preferences.string(forKey: AuthViewModel.lastAddress) ?? ""
    remembers = preferences.object(forKey: AuthViewModel.lastChoice) as? Bool ?? true
  }

  private static let lastAddress = "org.handstamp.last_address"
  private static let lastChoice = "org.handstamp.remembers"

  private func keepChoice() {
    preferences.set(remembers, forKey: AuthViewModel.lastChoice)
    if remembers, !email.trimmed.isEmpty {
      preferences.set(email.trimmed, forKey: AuthViewModel.lastAddress)
    } else {
      preferences.removeObject(forKey: AuthViewModel.lastAddress)
    }
  }

  deinit {
    task?.cancel()
    offer?.cancel()
  }

  /// The form stays under what the user types into it, whatever becomes of the session.
  private func keepForm() { if chosenForm == nil { chosenForm = form } }

  public var isWorking: Bool { running != nil }

  /// Whether the form is filled in, as far as the client can tell; the server decides whether the input is valid.
  public var canSubmit: Bool {
    guard running == nil, question == nil, let identifier = offered.identifier else { return false }
    return switch form {
    case .signIn: identifier.accepts(email) && !password.isEmpty
    case .secondFactor: identifier.accepts(email) && !password.isEmpty && code.typedCode != nil
    case .signUp: identifier.accepts(email) && !password.isEmpty && !username.trimmed.isEmpty
    case .confirm: code.typedCode != nil && !password.isEmpty
    case .reset: identifier.accepts(email)
    }
  }

  /// Submits the form. Has no effect while the form is incomplete or an operation is in progress.
  @discardableResult
  public func submit() -> Task<Void, Never>? {
    guard canSubmit else { return nil }
    let (service, email, password, name) = (service, email.trimmed, password, username.trimmed)
    let (form, code, remembers) = (form, code.typedCode ?? "", remembers)
    if form == .signIn, !mayLeaveGuest(then: { $0.submit() }) { return nil }
    let kept = keepsBiometric ? biometric : nil
    return start(.submit) { [weak self] () async throws(SessionError) in
      switch form {
      case .signIn, .secondFactor:
        try await service.signIn(
          email: email, password: password, code: form == .signIn ? nil : code, by: .password, remember: remembers)
        self?.addPasskeyQuietly()
        // The form may be gone. If the device cannot keep it, there is no button next time.
        do throws(VaultError) { try await kept?.store(Secret("\(email)\n\(password)")) } catch { return nil }
        if kept != nil { self?.hasKept() }
        return nil
      case .signUp:
        let result = try await service.signUp(email: email, password: password, username: name, remember: remembers)
        return result == .confirmationSent ? .confirmationSent : nil
      case .confirm:
        try await service.confirmSignUp(code, password: password, remember: remembers)
        return nil
      case .reset:
        try await service.resetPassword(email: email)
        return .resetSent
      }
    }
  }

  @discardableResult
  public func continueAsGuest() -> Task<Void, Never>? {
    start(.guest) { [service] () async throws(SessionError) in
      try await service.signInAnonymously()
      return nil
    }
  }

  /// Signs in with Apple. A guest's account becomes that of the credential.
  @discardableResult
  public func signInWithApple() -> Task<Void, Never>? {
    guard offersApple, let apple else { return nil }
    return start(.apple) { [weak self] () async throws(SessionError) in
      let credential = try await apple.credential()
      do throws(SessionError) { try await self?.signIn(with: credential, upgradesGuest: true) } catch {
        // The credential was not used: it signs in to the account that it belongs to.
        if case .refused(code: "identity_taken", _) = error {
          self?.chosen = { model in
            model.start(.apple) { [weak model] () async throws(SessionError) in
              try await model?.signIn(with: credential, upgradesGuest: false)
              return nil
            }
          }
        }
        throw error
      }
      return nil
    }
  }

  private func signIn(with credential: AppleCredential, upgradesGuest: Bool) async throws(SessionError) {
    try await service.signInWithApple(credential, upgradesGuest: upgradesGuest, remember: remembers)
    if let user = credential.user, let session = service.currentSession, let account = session.profile?.id {
      preferences.set("\(session.id.rawValue) \(user)", forKey: account.appleUserKey)
    }
  }

  @discardableResult
  public func signInWithPasskey() -> Task<Void, Never>? {
    guard offersPasskeys, let passkeys, mayLeaveGuest(then: { $0.signInWithPasskey() }) else { return nil }
    return start(.passkey) { [service, remembers] () async throws(SessionError) in
      try await service.signIn(by: passkeys, for: .signIn, remember: remembers) { true }
      return nil
    }
  }

  /// Makes a guest's account one that signs in with a new passkey of this device. It needs the address and the name.
  @discardableResult
  public func signUpWithPasskey() -> Task<Void, Never>? {
    let (email, name) = (email.trimmed, username.trimmed)
    guard offersPasskeySignUp, let passkeys, offered.identifier?.accepts(email) == true, !name.isEmpty else {
      return nil
    }
    return start(.passkeySignUp) { [service] () async throws(SessionError) in
      let way = GuestUpgrade.passkey(email: email, username: name) { options throws(SessionError) in
        try await passkeys.answer(to: options, for: .add)
      }
      _ = try await service.upgrade(by: way)
      return nil
    }
  }

  /// Signs in on the server's own page.
  @discardableResult
  public func signInWithBrowser() -> Task<Void, Never>? {
    guard offersBrowser, let page, mayLeaveGuest(then: { $0.signInWithBrowser() }) else { return nil }
    return start(.browser) { [service, remembers] () async throws(SessionError) in
      try await service.signInWithBrowser(page, remember: remembers)
      return nil
    }
  }

  // MARK: Biometry

  /// Finds out whether the device keeps a password. Does not ask the user. The view calls it when it appears.
  public func findBiometric() async { offersBiometric = await biometric?.isStored() ?? false }

  /// Signs in with the password that the device keeps, once the user has confirmed their presence. One that the server no longer accepts
  /// is removed.
  @discardableResult
  public func signInWithBiometric() -> Task<Void, Never>? {
    guard offersBiometric, let biometric, mayLeaveGuest(then: { $0.signInWithBiometric() }) else { return nil }
    return start(.biometric) { [weak self, service, remembers] () async throws(SessionError) in
      guard let kept = try await biometric.secret(Word.biometricReason.text), let (email, password) = kept.lines else {
        self?.offersBiometric = false
        throw .presence(.noSecret)
      }
      self?.email = email
      do throws(SessionError) {
        try await service.signIn(email: email, password: password, code: nil, by: .biometric, remember: remembers)
      } catch {
        // The code is all that is left to ask for.
        if case .refused(code: "second_factor_required", _) = error { self?.password = password }
        if case .refused(code: "wrong_credentials", _) = error { await self?.removeBiometric() }
        throw error
      }
      return nil
    }
  }

  /// Lets the device forget the password.
  public func removeBiometric() async {
    do throws(VaultError) { try await biometric?.remove() } catch { return }
    offersBiometric = false
  }

  private func hasKept() { (keepsBiometric, offersBiometric) = (false, true) }

  // MARK: A guest

  /// Asks before a guest's session ends for good; returns whether it may.
  private func mayLeaveGuest(then again: @escaping @MainActor (AuthViewModel) -> Task<Void, Never>?) -> Bool {
    guard service.losesGuest, !leavesGuest else { return true }
    (question, chosen) = (.leavesGuest, again)
    return false
  }

  /// The user signs in to the account that exists. The guest's session ends when that has succeeded.
  @discardableResult
  public func signInThere() -> Task<Void, Never>? {
    guard let question else { return nil }
    (self.question, leavesGuest) = (nil, true)
    defer { chosen = nil }
    if let chosen { return chosen(self) }
    // The password is another account's.
    if question == .accountExists { (form, password) = (.signIn, "") }
    return nil
  }

  /// The user stays a guest.
  public func stayGuest() { (question, chosen, leavesGuest) = (nil, nil, false) }

  /// Offers passkeys above the keyboard, until ``cancel()`` or while no other way in is used. The view calls it when it appears.
  ///
  /// - Returns: the offer, which ends when the user has signed in, or the system offers none.
  @discardableResult
  public func offerPasskeys() -> Task<Void, Never>? {
    offers = true
    // A guest is asked first.
    guard offersPasskeys, running == nil, offer == nil, !service.losesGuest || leavesGuest else { return nil }
    return renewOffer()
  }

  @discardableResult
  private func renewOffer() -> Task<Void, Never>? {
    endOffer()
    guard let passkeys else { return nil }
    run += 1
    let number = run
    let new = Task { [weak self, service, remembers] in
      let result: Result<Notice?, SessionError>
      do throws(SessionError) {
        try await service.signIn(by: passkeys, for: .offer, remember: remembers) { [weak self] in
          await self?.take(number) ?? false
        }
        result = .success(nil)
      } catch { result = .failure(error) }
      self?.finishOffer(number, result)
    }
    offer = new
    return new
  }

  private func endOffer() {
    offer?.cancel()
    offer = nil
  }

  /// The user has taken the offer: it is the operation in progress from here on.
  private func take(_ number: UInt64) -> Bool {
    guard number == run, let offer else { return false }
    (task, running, failure, notice) = (offer, .passkey, nil, nil)
    self.offer = nil
    return true
  }

  private func finishOffer(_ number: UInt64, _ result: Result<Notice?, SessionError>) {
    guard number == run else { return }
    // An offer that was not taken ends without a word: the user has asked for nothing.
    if running == .passkey { finish(.passkey, number, result) } else { offer = nil }
  }

  /// Lets the password manager that has just filled in the password add a passkey, without a sheet. Failing is no failure of the
  /// sign-in.
  private func addPasskeyQuietly() {
    guard let passkeys else { return }
    upgrade = Task { [service] in
      let list = try? await service.addPasskey(proof: nil) { options throws(SessionError) in
        try await passkeys.answer(to: options, for: .upgrade)
      }
      if let list { await passkeys.report(.accepted(list)) }
    }
  }

  /// Performs the remedy of ``failure``, if there is one.
  @discardableResult
  public func recover() -> Task<Void, Never>? {
    guard let failure, let remedy = failure.remedy else { return nil }
    switch remedy {
    case .tryAgain:
      return switch failure.action {
      case .submit: submit()
      case .guest: continueAsGuest()
      case .apple: signInWithApple()
      case .passkey: signInWithPasskey()
      case .passkeySignUp: signUpWithPasskey()
      case .browser: signInWithBrowser()
      case .biometric: signInWithBiometric()
      }
    case .resetPassword: form = .reset
    case .signInInstead: form = .signIn
    }
    return nil
  }

  /// Abandons the operation in progress. If it still yields a session, that session is ended at the server.
  public func cancel() {
    offers = false
    endOffer()
    task?.cancel()
    (task, running) = (nil, nil)
    run += 1
  }

  private func start(
    _ action: Action, _ body: @escaping @MainActor () async throws(SessionError) -> Notice?
  ) -> Task<Void, Never>? {
    guard running == nil, question == nil else { return nil }
    // The system refuses a second request.
    endOffer()
    run += 1
    let number = run
    (running, failure, notice) = (action, nil, nil)
    let new = Task { [weak self] in
      let result: Result<Notice?, SessionError>
      do throws(SessionError) { result = .success(try await body()) } catch { result = .failure(error) }
      self?.finish(action, number, result)
    }
    task = new
    return new
  }

  private func finish(_ action: Action, _ number: UInt64, _ result: Result<Notice?, SessionError>) {
    guard number == run else { return }
    (task, running) = (nil, nil)
    switch result {
    case .success(.confirmationSent):
      // The password stays: it is sent with the code.
      form = .confirm
      notice = .confirmationSent
    case .success(let new):
      notice = new
      (password, code) = ("", "")
      if form == .secondFactor { form = .signIn }
      if new == nil {
        (leavesGuest, chosen) = (false, nil)
        keepChoice()
        onSignIn?()
      } else if offers {
        // The form stays.
        offerPasskeys()
      }
    case .failure(.refused(code: "second_factor_required", _)) where form == .signIn:
      form = .secondFactor
    case .failure(.refused(let code, _)) where GuestUpgrade.taken.contains(code) && service.isAnonymous:
      question = .accountExists
    case .failure(let error):
      failure = Wording(error).map {
        Failure(error: error, action: action, wording: $0, remedy: remedy(for: error, action))
      }
      if offers { offerPasskeys() }
    }
  }

  private func remedy(for error: SessionError, _ action: Action) -> Remedy? {
    if case .refused(let code, _) = error {
      return switch code {
      case "wrong_credentials" where action == .submit && form == .signIn: .resetPassword
      case "email_taken": .signInInstead
      default: nil
      }
    }
    return switch error.recovery {
    case .retry?, .unlockDevice?, .confirmPresence?: .tryAgain
    // The failed action was a sign-in, so trying again is the remedy.
    case .signIn?: .tryAgain
    case .freeStorage?, .grantAccess?, .updateApp?, .restoreKey?, .fixConfiguration?, .setClock?: .tryAgain
    case nil: nil
    }
  }
}

extension AuthService {
  /// Signs in with a passkey. If no account has it, the device is told so.
  ///
  /// - Parameter take: whether the answer is still wanted.
  fileprivate func signIn(
    by passkeys: any PasskeySource, for request: PasskeyRequest, remember: Bool,
    taking take: @escaping @Sendable () async -> Bool
  ) async throws(SessionError) {
    let unknown = Locked<PasskeySignal?>(nil)
    do throws(SessionError) {
      try await signInWithPasskey(remember: remember) { options throws(SessionError) in
        let answer = try await passkeys.answer(to: options, for: request)
        guard await take() else { throw .cancelled }
        unknown.withLock { $0 = PasskeySignal(unknownIn: answer, to: options) }
        return answer
      }
    } catch {
      if case .refused(code: "passkey_unknown", _) = error, let signal = unknown.withLock({ $0 }) {
        await passkeys.report(signal)
      }
      throw error
    }
  }
}

extension Secret {
  /// The first line, and all that follows it.
  fileprivate var lines: (String, String)? {
    withExposed { text in
      text.firstIndex(of: "\n").map { (String(text[..<$0]), String(text[text.index(after: $0)...])) }
    }
  }
}
