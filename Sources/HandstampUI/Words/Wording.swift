public import HandstampCore

/// What a person is told about an error. It never holds a secret, nor a server's text that could be anything.
public struct Wording: Sendable, Hashable {
  public var word: Word
  /// What stands for `{0}`.
  public var value: String?

  public init(_ word: Word, _ value: String? = nil) {
    self.word = word
    self.value = value
  }

  public var text: String { word.text(value) }

  /// Nothing for a cancellation: whoever cancels knows.
  public init?(_ error: SessionError) {
    switch error {
    case .signedOut(let reason?): self = Wording(reason) ?? Wording(.errorSignedOut)
    case .signedOut(nil), .noRefreshToken, .rolledBack: self.init(.errorSignedOut)
    case .rejected(let reason): self = Wording(reason) ?? Wording(.reasonRejected)
    case .unreachable(let delay?): self.init(.errorUnreachableFor, Wording.seconds(delay))
    case .unreachable(nil): self.init(.errorUnreachable)
    case .storage(.locked): self.init(.errorLocked)
    case .storage(.unavailable): self.init(.errorStorage)
    case .storage(.corrupt): self.init(.errorCorrupt)
    case .tokenRefused, .invalidAnswer: self.init(.errorServer)
    case .refused(let code, _): self.init(refusal: code)
    case .unsupported: self.init(.errorUnsupported)
    case .presence(.lockedOut(let delay)): self.init(.errorPresenceLockedOut, Wording.seconds(delay))
    case .presence(.declined), .presence(.unavailable): self.init(.errorPresence)
    case .presence(.cancelled), .cancelled: return nil
    @unknown default: self.init(.errorServer)
    }
  }

  /// Why a session ended, for those who did not end it themselves; nothing for them.
  public init?(_ reason: EndReason) {
    switch reason {
    case .signedOut: return nil
    case .revoked: self.init(.reasonRevoked)
    case .replaced: self.init(.reasonReplaced)
    case .misused: self.init(.reasonMisused)
    case .expired: self.init(.reasonExpired)
    case .idle: self.init(.reasonIdle)
    case .accountClosed: self.init(.reasonAccountClosed)
    case .rejected, .erased: self.init(.reasonRejected)
    }
  }

  private init(refusal code: String) {
    switch code {
    case "wrong_credentials": self.init(.errorWrongCredentials)
    case "email_taken": self.init(.errorEmailTaken)
    case "weak_password": self.init(.errorWeakPassword)
    case "sign_up_closed": self.init(.errorSignUpClosed)
    case "not_offered": self.init(.errorUnsupported)
    case "confirmation_sent": self.init(.confirmationSent)
    // A code is short and of a few letters; what is not is no code.
    default:
      let isCode = code.utf8.count <= 40 && code.utf8.allSatisfy { (97...122).contains($0) || $0 == 95 }
      self.init(.errorRefused, isCode ? code.replacing("_", with: " ") : "?")
    }
  }

  /// Whole seconds, rounded up, at least one; a day at most.
  private static func seconds(_ delay: Duration) -> String {
    let bounded = min(max(delay, .seconds(1)), .seconds(86_400))
    let (whole, rest) = bounded.components
    return String(whole + (rest > 0 ? 1 : 0))
  }
}
