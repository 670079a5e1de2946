/// A backend that signs in with a name and a password, such as by a site's form, and has no other account functions.
public protocol CredentialBackend: Backend {
  @concurrent func signIn(_ username: String, _ password: Secret) async throws(SessionError) -> TokenResponse
}

/// A backend whose server signs people in on its own page.
public protocol BrowserBackend: Backend {
  @concurrent func signIn(on page: BrowserPage) async throws(SessionError) -> TokenResponse
}

/// The way to a server's page, and back.
public struct BrowserPage: Sendable {
  /// Opens the page and captures the redirect, such as `WebSignIn()` of HandstampUI.
  public var receiver: any RedirectReceiver
  /// As registered at the server.
  public var redirectURI: String

  public init(_ receiver: any RedirectReceiver, redirectURI: String) {
    self.receiver = receiver
    self.redirectURI = redirectURI
  }
}

/// The ways to sign in that a form can offer. They follow from the backend: a form that must fail is not shown.
public struct SignInOffer: Sendable, Hashable {
  /// How people are named in the form.
  public enum Identifier: Sendable, Hashable, CaseIterable {
    /// By an email address.
    case email
    /// By a user name, which has no form of its own.
    case username
    /// By one of the two.
    case either

    /// Whether a text could be such a name; the server decides whether it is one.
    public func accepts(_ text: String) -> Bool {
      let text = text.drop(while: \.isWhitespace)
      switch self {
      case .username, .either: return !text.isEmpty
      case .email:
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { $0.contains { !$0.isWhitespace } }
      }
    }
  }

  /// The name beside a password; `nil` if the backend takes no passwords.
  public var identifier: Identifier?
  /// Sign-up, guests, a forgotten password, passkeys and Sign in with Apple, as far as the server has them.
  public var accounts: Bool
  /// The server's own page.
  public var browser: Bool

  public init(identifier: Identifier?, accounts: Bool, browser: Bool) {
    self.identifier = identifier
    self.accounts = accounts
    self.browser = browser
  }

  /// The offer of a backend, by the protocols that it conforms to.
  public init(_ backend: any Backend) {
    let accounts = backend is any AccountBackend
    self.init(
      identifier: accounts ? .email : backend is any CredentialBackend ? .either : nil, accounts: accounts,
      browser: backend is any BrowserBackend)
  }
}

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
