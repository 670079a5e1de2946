public import Handstamp
import HandstampCore
import HandstampSupport
public import Observation

/// The model of ``AuthView``: sign-in, sign-up and its confirmation, password reset, guest access, Sign in with Apple and passkeys.
///
/// An operation in progress ends, or is abandoned with ``cancel()``: then the form is usable again immediately, whether
/// or not the server ever answers.
@MainActor @Observable
public final class AuthViewModel {
  public enum Form: Sendable, Hashable, CaseIterable {
    case signIn, signUp
    /// Asks for the code of the mail that a sign-up causes, and for the password. An app that the mail's link opens shows it with
    /// ``AuthViewModel/code`` filled in.
    case confirm
    case reset
  }

  /// The operation that the user started.
  public enum Action: Sendable, Hashable { case submit, guest, apple, passkey }

  /// The message after a success that does not start a session.
  public enum Notice: Sendable, Hashable {
    case confirmationSent, resetSent

    public var wording: Wording { Wording(self == .confirmationSent ? .confirmationSent : .resetSent) }
  }

  /// The action offered after a failure, as a button.
  public enum Remedy: Sendable, Hashable {
    /// Repeats the failed action.
    case tryAgain
    case resetPassword
    case signInInstead

    public var word: Word {
      switch self {
      case .tryAgain: .tryAgain
      case .resetPassword: .forgotPassword
      case .signInInstead: .signInInstead
      }
    }
  }

  public struct Failure: Sendable, Hashable {
    public var error: SessionError
    public var action: Action
    public var wording: Wording
    public var remedy: Remedy?
  }

  public var form = Form.signIn { didSet { if form != oldValue { (failure, notice) = (nil, nil) } } }
  public var email = ""
  public var password = ""
  public var username = ""
  /// The code of a mail, for ``Form/confirm``.
  public var code = ""
  /// If `false`, the session ends with the process.
  public var remembers = true { didSet { if remembers != oldValue, offer != nil { renewOffer() } } }

  /// The operation in progress, or `nil`.
  public private(set) var running: Action?
  public private(set) var failure: Failure?
  public private(set) var notice: Notice?

  /// Called when a user has signed in, such as to close a sheet.
  @ObservationIgnored public var onSignIn: (@MainActor () -> Void)?

  /// Whether Sign in with Apple is available.
  public var offersApple: Bool { apple != nil }

  /// Whether passkeys are available.
  public var offersPasskeys: Bool { passkeys != nil }

  @ObservationIgnored private let service: any AuthService
  @ObservationIgnored private let apple: (any AppleCredentialSource)?
  @ObservationIgnored private let passkeys: (any PasskeySource)?
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
  public init(
    _ service: any AuthService, apple: (any AppleCredentialSource)? = nil, passkeys: (any PasskeySource)? = nil
  ) {
    self.service = service
    self.apple = apple
    self.passkeys = passkeys
  }

  deinit {
    task?.cancel()
    offer?.cancel()
  }

  public var isWorking: Bool { running != nil }

  /// Whether the form is filled in, as far as the client can tell; the server decides whether the input is valid.
  public var canSubmit: Bool {
    guard running == nil else { return false }
    return switch form {
    case .signIn: isAddress(email) && !password.isEmpty
    case .signUp: isAddress(email) && !password.isEmpty && !trimmed(username).isEmpty
    case .confirm: !trimmed(code).isEmpty && !password.isEmpty
    case .reset: isAddress(email)
    }
  }

  /// Submits the form. Has no effect while the form is incomplete or an operation is in progress.
  @discardableResult
  public func submit() -> Task<Void, Never>? {
    guard canSubmit else { return nil }
    let (service, email, password, name) = (service, trimmed(email), password, trimmed(username))
    let (form, code, remembers) = (form, trimmed(code), remembers)
    return start(.submit) { [weak self] () async throws(SessionError) in
      switch form {
      case .signIn:
        try await service.signIn(email: email, password: password, remember: remembers)
        self?.addPasskeyQuietly()
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

  @discardableResult
  public func signInWithApple() -> Task<Void, Never>? {
    guard let apple else { return nil }
    return start(.apple) { [service, remembers] () async throws(SessionError) in
      let (credential, nonce) = try await apple.credential()
      try await service.signInWithApple(idToken: credential.idToken, nonce: nonce, remember: remembers)
      return nil
    }
  }

  @discardableResult
  public func signInWithPasskey() -> Task<Void, Never>? {
    guard let passkeys else { return nil }
    return start(.passkey) { [service, remembers] () async throws(SessionError) in
      try await service.signIn(by: passkeys, for: .signIn, remember: remembers) { true }
      return nil
    }
  }

  /// Offers passkeys above the keyboard, until ``cancel()`` or while no other way in is used. The view calls it when it appears.
  ///
  /// - Returns: the offer, which ends when the user has signed in, or the system offers none.
  @discardableResult
  public func offerPasskeys() -> Task<Void, Never>? {
    offers = true
    guard passkeys != nil, running == nil, offer == nil else { return nil }
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
    guard running == nil else { return nil }
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
      if new == nil {
        onSignIn?()
      } else if offers {
        // The form stays.
        offerPasskeys()
      }
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

  private func isAddress(_ text: String) -> Bool {
    let parts = trimmed(text).split(separator: "@", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
  }

  private func trimmed(_ text: String) -> String {
    let head = text.drop(while: \.isWhitespace)
    return String(head.reversed().drop(while: \.isWhitespace).reversed())
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
