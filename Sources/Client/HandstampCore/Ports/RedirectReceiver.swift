/// Shows a server's sign-in page to the user and captures the redirect at its end (RFC 6749 section 4.1.2; RFC 8252 for apps).
/// Do not use an embedded web view: it could read the password (RFC 8252 section 8.12).
public protocol RedirectReceiver: Sendable {
  /// Opens the page and returns the redirect URL.
  ///
  /// When its task is cancelled, it should close the page and throw ``RedirectError/cancelled``.
  ///
  /// - Parameters:
  ///   - authorizationURL: the URL of the page, absolute, `https`.
  ///   - callbackScheme: the scheme of the redirect URI that the app registered at the server, such as `org.example.forum`,
  ///     without `:`.
  /// - Returns: the complete redirect URL, unmodified. It contains the authorization code (RFC 6749 section 4.1.2), hence a
  ///   secret; the caller validates `state` and `iss`.
  /// - Throws: ``RedirectError``.
  @concurrent func receive(
    from authorizationURL: String, callbackScheme: String
  ) async throws(RedirectError) -> Secret
}
