public import HandstampCore
import HandstampSupport

/// The text shown to users for an error. It never contains secrets or arbitrary text from a server.
public struct Wording: Sendable, Hashable {
  public var word: Word
  /// The replacement for `{0}`.
  public var value: String?

  public init(_ word: Word, _ value: String? = nil) {
    self.word = word
    self.value = value
  }

  public var text: String { word.text(value) }

  /// Returns `nil` for a cancellation, which needs no explanation.
  public init?(_ error: SessionError) {
    switch error {
    case .signedOut(let reason?): self = Wording(reason) ?? Wording(.errorSignedOut)
    case .signedOut(nil), .noRefreshToken, .storageOutdated: self.init(.errorSignedOut)
    case .sessionEnded(let reason): self = Wording(reason) ?? Wording(.reasonRejected)
    case .requestFailed(.configuration, _): self.init(.errorConfiguration)
    case .requestFailed(.clock, _): self.init(.errorClock)
    case .requestFailed(.unusableTokens, _): self.init(.errorServer)
    case .requestFailed(_, let delay?): self.init(.errorUnreachableFor, Wording.seconds(delay))
    case .requestFailed(_, nil): self.init(.errorUnreachable)
    case .storage(.locked): self.init(.errorLocked)
    case .storage(.full): self.init(.errorStorageFull)
    case .storage(.newerFormat): self.init(.errorNewerFormat)
    case .storage(.corrupt): self.init(.errorCorrupt)
    case .storage: self.init(.errorStorage)
    case .tokenRejected, .invalidResponse: self.init(.errorServer)
    case .refused(let code, _): self.init(refusal: code)
    case .redirect(.cancelled): return nil
    case .contentFailed: self.init(.errorContent)
    case .redirect: self.init(.errorBrowser)
    case .unsupported: self.init(.errorUnsupported)
    case .presence(.lockedOut(let delay)): self.init(.errorPresenceLockedOut, Wording.seconds(delay))
    case .presence(.declined), .presence(.unavailable), .presence(.noSecret): self.init(.errorPresence)
    case .presence(.cancelled), .cancelled: return nil
    @unknown default: self.init(.errorServer)
    }
  }

  /// Explains why a session ended; `nil` if the user signed out.
  public init?(_ reason: EndReason) {
    switch reason {
    case .signedOut: return nil
    case .revoked: self.init(.reasonRevoked)
    case .replaced: self.init(.reasonReplaced)
    case .tokenReuseDetected: self.init(.reasonMisused)
    case .expired: self.init(.reasonExpired)
    case .idle: self.init(.reasonIdle)
    case .accountClosed: self.init(.reasonAccountClosed)
    case .repeatRefused, .rejected, .erased: self.init(.reasonRejected)
    }
  }

  private init(refusal code: String) {
    switch code {
    case "wrong_credentials": self.init(.errorWrongCredentials)
    case "reauthentication_required": self.init(.passwordToEnd)
    case "email_taken": self.init(.errorEmailTaken)
    case "link_invalid": self.init(.errorCodeInvalid)
    case "weak_password": self.init(.errorWeakPassword)
    case "sign_up_closed": self.init(.errorSignUpClosed)
    case "not_offered": self.init(.errorUnsupported)
    case "confirmation_sent": self.init(.confirmationSent)
    // Codes are short and consist of a few letters; anything else is not shown.
    default:
      let isCode = code.utf8.count <= 40 && code.utf8.allSatisfy { $0.isLowercaseLetter || $0 == 95 }
      self.init(.errorRefused, isCode ? code.replacing("_", with: " ") : "?")
    }
  }

  /// Whole seconds, rounded up, between one and a day.
  private static func seconds(_ delay: Duration) -> String {
    String(min(max(delay, .seconds(1)), .seconds(86_400)).roundedUpSeconds)
  }
}
