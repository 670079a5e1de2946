/// Shows a person the sign-in page of a server, and catches the redirect that it ends with (RFC 6749 section 4.1.2; RFC 8252
/// for apps). A web view inside the app is none: it could read the password (RFC 8252 section 8.12).
public protocol RedirectReceiver: Sendable {
  /// Opens the page and returns when the redirect came.
  ///
  /// When its task is cancelled, nobody waits for the answer any more: it should close the page, and throw
  /// ``RedirectError/cancelled``.
  ///
  /// - Parameters:
  ///   - authorizationURL: where the page is, absolute, `https`.
  ///   - callbackScheme: the scheme of the redirect address that the app registered at the server, such as
  ///     `org.example.forum`, without `:`.
  /// - Returns: the whole redirect address, as it came. It holds the code (RFC 6749 section 4.1.2), hence a secret; whoever
  ///   asked checks `state` and `iss` in it.
  @concurrent func receive(
    from authorizationURL: String, callbackScheme: String
  ) async throws(RedirectError) -> Secret
}

/// Why no redirect came.
public enum RedirectError: ErrorWithRecovery, Hashable {
  /// The person closed the page, or the task was cancelled.
  case cancelled
  /// No page can be shown now, or another one is open; the text says what, without the address's query.
  case unavailable(String)

  public var recovery: Recovery {
    switch self {
    case .cancelled: .none
    case .unavailable: .retry(after: nil)
    }
  }

  /// The same, for those who sign in.
  public var sessionError: SessionError {
    switch self {
    case .cancelled: .cancelled
    case .unavailable(let text): .unsupported(text)
    }
  }
}
