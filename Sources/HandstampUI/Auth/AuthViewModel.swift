public import Handstamp
import HandstampCore
public import Observation

/// What ``AuthView`` shows and does: signing in, signing up, resetting a password, as a guest and with Apple.
///
/// Whatever is under way ends, or is given up with ``cancel()``: then the form can be used again at once, whether the server
/// ever answers or not.
@MainActor @Observable
public final class AuthViewModel {
  public enum Form: Sendable, Hashable, CaseIterable { case signIn, signUp, reset }

  /// What somebody began.
  public enum Action: Sendable, Hashable { case submit, guest, apple }

  /// What to tell after a success that shows no session.
  public enum Notice: Sendable, Hashable {
    case confirmationSent, resetSent

    public var wording: Wording { Wording(self == .confirmationSent ? .confirmationSent : .resetSent) }
  }

  /// A way on after a failure, as a button.
  public enum Remedy: Sendable, Hashable {
    /// The same once more.
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
  /// Without it the session ends with the program.
  public var remembers = true

  /// What is under way.
  public private(set) var running: Action?
  public private(set) var failure: Failure?
  public private(set) var notice: Notice?

  /// Whether there is a way to ask Apple.
  public var offersApple: Bool { apple != nil }

  @ObservationIgnored private let service: any AuthService
  @ObservationIgnored private let apple: (any AppleCredentialSource)?
  @ObservationIgnored private var task: Task<Void, Never>?
  /// Which start the shown state belongs to: what an earlier one brings home changes nothing any more.
  @ObservationIgnored private var run: UInt64 = 0

  /// - Parameter apple: shows Apple's sheet; nothing: Sign in with Apple is not offered.
  public init(_ service: any AuthService, apple: (any AppleCredentialSource)? = nil) {
    self.service = service
    self.apple = apple
  }

  deinit { task?.cancel() }

  public var isWorking: Bool { running != nil }

  /// Whether the form is filled in as far as can be told here; what is right is for the server to say.
  public var canSubmit: Bool {
    guard running == nil, isAddress(email) else { return false }
    return switch form {
    case .signIn: !password.isEmpty
    case .signUp: !password.isEmpty && !trimmed(username).isEmpty
    case .reset: true
    }
  }

  /// Sends the form. Does nothing while it is not filled in, or something is under way.
  @discardableResult
  public func submit() -> Task<Void, Never>? {
    guard canSubmit else { return nil }
    let (service, email, secret, name) = (service, trimmed(email), Secret(password), trimmed(username))
    let (form, remembers) = (form, remembers)
    return start(.submit) { () async throws(SessionError) in
      switch form {
      case .signIn:
        try await service.signIn(email: email, password: secret, remember: remembers)
        return nil
      case .signUp:
        let result = try await service.signUp(email: email, password: secret, username: name, remember: remembers)
        return result == .confirmationSent ? .confirmationSent : nil
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
    return start(.apple) { [service] () async throws(SessionError) in
      let (credential, nonce) = try await apple.credential()
      try await service.signInWithApple(idToken: credential.idToken, nonce: nonce)
      return nil
    }
  }

  /// Presses the button that ``failure`` has, if it has one.
  @discardableResult
  public func recover() -> Task<Void, Never>? {
    guard let failure, let remedy = failure.remedy else { return nil }
    switch remedy {
    case .tryAgain:
      return switch failure.action {
      case .submit: submit()
      case .guest: continueAsGuest()
      case .apple: signInWithApple()
      }
    case .resetPassword: form = .reset
    case .signInInstead: form = .signIn
    }
    return nil
  }

  /// Gives up what is under way. A session that it brings home nevertheless is ended at the server.
  public func cancel() {
    task?.cancel()
    (task, running) = (nil, nil)
    run += 1
  }

  private func start(
    _ action: Action, _ body: @escaping @MainActor () async throws(SessionError) -> Notice?
  ) -> Task<Void, Never>? {
    guard running == nil else { return nil }
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
    case .success(let new):
      notice = new
      password = ""
    case .failure(let error):
      failure = Wording(error).map {
        Failure(error: error, action: action, wording: $0, remedy: remedy(for: error, action))
      }
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
    case .retry, .unlockDevice, .confirmPresence: .tryAgain
    // Signing in is what was tried: the same again is the way.
    case .signIn: .tryAgain
    case .none: nil
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
