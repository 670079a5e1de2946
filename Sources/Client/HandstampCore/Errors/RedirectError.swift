/// Why no redirect was received.
@nonexhaustive
public enum RedirectError: HandstampError, Hashable {
  /// The user closed the page, or the task was cancelled.
  case cancelled
  /// No page can be shown now, or another one is open; the text gives the reason, without the query of the URL.
  case unavailable(String)

  public var code: String {
    switch self {
    case .cancelled: "cancelled"
    case .unavailable: "browser_unavailable"
    }
  }

  public var recovery: Recovery? {
    switch self {
    case .cancelled: nil
    case .unavailable: .retry(after: nil)
    }
  }

  /// The corresponding ``SessionError`` of a sign-in.
  public var sessionError: SessionError {
    switch self {
    case .cancelled: .cancelled
    case .unavailable: .redirect(self)
    }
  }
}

extension RedirectError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .cancelled: "cancelled"
    case .unavailable(let text): "the sign-in page cannot be shown: \(text)"
    }
  }
}
