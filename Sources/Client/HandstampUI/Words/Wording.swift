import Foundation
public import Handstamp
import HandstampSupport

/// The text shown to users for an error or the end of a session, and the step that can help. It never contains secrets, nor text
/// from a server other than a code, or the name of the provider where a session ended.
///
/// ```swift
/// do { try await session.signIn(email: email, password: password) } catch { failure = Wording(error) }
/// ```
/// The page <doc:WhatToShow> lists the errors and their texts.
public struct Wording: Sendable, Hashable {
  public var word: Word
  /// The replacement for `{0}`.
  public var value: String?
  /// The step that can help; `nil` if there is none.
  public var recovery: Recovery?

  public init(_ word: Word, _ value: String? = nil, recovery: Recovery? = nil) {
    self.word = word
    self.value = value
    self.recovery = recovery
  }

  /// The text in the app's language.
  public var text: String { filled(word.text) }

  /// Returns the package's own text in a language, such as `de`; in English if it has none.
  public func text(in language: String) -> String { filled(word.text(in: language)) }

  private func filled(_ text: String) -> String {
    value.map { text.replacingOccurrences(of: "{0}", with: $0) } ?? text
  }

  /// The title of a button for ``recovery``; `nil` if the user cannot do it here and now.
  public var remedy: Word? {
    switch recovery {
    case .signIn?: .signIn
    case .retry?, .unlockDevice?, .freeStorage?, .grantAccess?, .setClock?: .tryAgain
    case .confirmPresence?: .unlock
    case .updateApp?, .restoreKey?, .fixConfiguration?, nil: nil
    }
  }

  /// Explains any error that a call of this package throws; any other error as "Something went wrong."
  ///
  /// Returns `nil` for a cancellation, which needs no explanation.
  public init?(_ error: any Error) {
    let found: Wording?
    switch error {
    case let error as SessionError: found = Wording.session(error)
    case let error as APIError: found = Wording.api(error)
    case let error as TransportError: found = Wording.transport(error)
    case let error as RequestError: found = Wording.request(error)
    case let error as VaultError: found = Wording.vault(error)
    case let error as PresenceError: found = Wording.presence(error)
    case let error as RedirectError: found = Wording.redirect(error)
    case let error as PassphraseError: found = Wording.passphrase(error)
    case let error as QueueError: found = Wording.queue(error)
    case is CancellationError: found = nil
    case let error as URLError where error.code == .cancelled: found = nil
    case is URLError: found = Wording(.errorUnreachable, recovery: .retry(after: nil))
    default: found = Wording(.errorOther)
    }
    guard var found else { return nil }
    found.recovery = Recovery(error) ?? found.recovery
    self = found
  }

  /// Explains why a session ended; `nil` if the user signed out.
  public init?(_ reason: EndReason) {
    switch reason {
    case .signedOut: return nil
    case .revoked: self.init(.reasonRevoked)
    case .replaced: self.init(.reasonReplaced)
    case .tokenReuseDetected: self.init(.reasonTokenReuse)
    case .expired: self.init(.reasonExpired)
    case .idle: self.init(.reasonIdle)
    case .accountClosed: self.init(.reasonAccountClosed)
    case .endedAtProvider(nil): self.init(.reasonProvider)
    case .endedAtProvider(let name?): self.init(.reasonProviderNamed, name)
    case .repeatRefused, .rejected, .erased: self.init(.reasonRejected)
    }
  }

  /// Says in how many seconds a session ends by a limit, see ``AuthGuardModel/upcomingEnd``.
  public init(_ end: UpcomingEnd, at now: UnixTime) {
    self.init(end.reason == .idle ? .endsIdle : .endsExpired, Wording.seconds(end.at.since(now)))
  }
}

// The texts alone: the initializer adds the recovery.
extension Wording {
  private static func session(_ error: SessionError) -> Wording? {
    switch error {
    case .signedOut(let reason?): Wording(reason) ?? Wording(.errorSignedOut)
    case .signedOut(nil), .noRefreshToken, .storageOutdated: Wording(.errorSignedOut)
    case .sessionEnded(let reason): Wording(reason) ?? Wording(.reasonRejected)
    case .requestFailed(.network, let delay?), .requestFailed(.server, let delay?),
      .requestFailed(.preparation, let delay?):
      Wording(.errorUnreachableFor, seconds(delay))
    case .requestFailed(let failure, _): request(failure)
    case .storage(let error): vault(error)
    case .tokenRejected, .invalidResponse: Wording(.errorServer)
    case .refused(let code, _): refusal(code)
    case .contentFailed: Wording(.errorContent)
    case .redirect(let error): redirect(error)
    case .unsupported: Wording(.errorUnsupported)
    case .presence(let error): presence(error)
    case .cancelled: nil
    }
  }

  private static func request(_ error: RequestError) -> Wording? {
    switch error {
    case .network(let error): transport(error)
    case .server(let response): status(response.status)
    case .configuration: Wording(.errorConfiguration)
    case .clock: Wording(.errorClock)
    case .unusableTokens: Wording(.errorServer)
    case .preparation(let error): session(error)
    }
  }

  private static func api(_ error: APIError) -> Wording? {
    switch error {
    case .session(let error): session(error)
    case .network(let error): transport(error)
    case .status(let number, let problem): problem?.code.flatMap(known) ?? status(number)
    case .unreadable: Wording(.errorServer)
    case .invalidRequest: Wording(.errorApp)
    }
  }

  private static func transport(_ error: TransportError) -> Wording? {
    switch error {
    case .notConnected, .connectionLost, .timedOut: Wording(.errorUnreachable)
    case .tooLarge: Wording(.errorServer)
    case .invalidRequest: Wording(.errorApp)
    case .cancelled: nil
    }
  }

  private static func status(_ number: Int) -> Wording {
    switch number {
    case 403: Wording(.errorNotAllowed)
    case 404, 410: Wording(.errorNotFound)
    case 409, 412: Wording(.errorConflict)
    case 429, 503: Wording(.errorBusy)
    case 500...: Wording(.errorServerDown)
    default: Wording(.errorNotAccepted)
    }
  }

  private static func vault(_ error: VaultError) -> Wording {
    switch error {
    case .locked: Wording(.errorLocked)
    case .full: Wording(.errorStorageFull)
    case .permissions: Wording(.errorPermissions)
    case .newerFormat: Wording(.errorNewerFormat)
    case .wrongKey: Wording(.errorKey)
    case .passphrase: Wording(.errorPassphraseUnusable)
    case .corrupt: Wording(.errorCorrupt)
    case .otherServer: Wording(.errorConfiguration)
    case .unavailable: Wording(.errorStorage)
    }
  }

  private static func presence(_ error: PresenceError) -> Wording? {
    switch error {
    case .lockedOut(let delay): Wording(.errorPresenceLockedOut, seconds(delay))
    case .declined, .unavailable, .noSecret: Wording(.errorPresence)
    case .cancelled: nil
    }
  }

  private static func redirect(_ error: RedirectError) -> Wording? {
    switch error {
    case .cancelled: nil
    case .unavailable: Wording(.errorBrowser)
    }
  }

  private static func passphrase(_ error: PassphraseError) -> Wording {
    switch error {
    case .wrong: Wording(.errorPassphraseWrong)
    case .lockedOut(let delay): Wording(.errorPresenceLockedOut, seconds(delay))
    case .tooShort(let minimum): Wording(.errorPassphraseShort, String(minimum))
    case .unusable: Wording(.errorPassphraseUnusable)
    case .damaged, .otherKey: Wording(.errorKey)
    case .notSet, .alreadySet: Wording(.errorOther)
    case .storage(let error): vault(error)
    }
  }

  private static func queue(_ error: QueueError) -> Wording {
    switch error {
    case .full: Wording(.errorQueueFull)
    case .invalidRequest: Wording(.errorApp)
    case .storage(let error): vault(error)
    }
  }

  private static func refusal(_ code: String) -> Wording {
    if let wording = known(code) { return wording }
    // Codes are short and consist of a few letters; anything else is not shown.
    let isCode = code.utf8.count <= 40 && code.utf8.allSatisfy { $0.isLowercaseLetter || $0 == 95 }
    return Wording(.errorRefused, isCode ? code.replacing("_", with: " ") : "?")
  }

  private static func known(_ code: String) -> Wording? {
    switch code {
    case "wrong_credentials": Wording(.errorWrongCredentials)
    case "reauthentication_required": Wording(.passwordToEnd)
    case "second_factor_required": Wording(.codeOfApp)
    case "second_factor_wrong": Wording(.codeOfAppWrong)
    case "email_taken": Wording(.errorEmailTaken)
    case "identity_taken": Wording(.errorIdentityTaken)
    case "link_invalid": Wording(.errorCodeInvalid)
    case "weak_password": Wording(.errorWeakPassword)
    case "sign_up_closed": Wording(.errorSignUpClosed)
    case "not_offered": Wording(.errorUnsupported)
    case "confirmation_sent": Wording(.confirmationSent)
    case "other_account": Wording(.errorOtherAccount)
    default: nil
    }
  }

  /// Whole seconds, rounded up, between one and a day.
  private static func seconds(_ delay: Duration) -> String {
    String(min(max(delay, .seconds(1)), .seconds(86_400)).roundedUpSeconds)
  }
}
