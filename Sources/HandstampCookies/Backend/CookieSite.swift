public import HandstampCore

/// How a site signs people in by a form and knows them by a cookie.
public struct CookieSite: Sendable {
  /// Below which the site is; its origin is the only one that cookies and forms go to.
  public var baseURL: String
  /// The cookie that is the session, such as `bbuserid`: who has it is signed in.
  public var loginCookie: String
  /// Where the sign-in form is sent, relative to ``baseURL``.
  public var signInPath: String
  /// The form that signs somebody in.
  public var form: @Sendable (_ username: String, _ password: Secret) -> WebForm
  /// Tells a success from a refusal by the page that came, after all redirects.
  public var recognize: @Sendable (_ page: TransportResponse) -> SignInVerdict
  /// The request that ends a session at the server. Nothing where there is none: then a sign-out holds on this device alone.
  public var signOut: (@Sendable (_ jar: CookieJar) -> TransportRequest?)?

  public init(
    baseURL: String, loginCookie: String, signInPath: String,
    form: @escaping @Sendable (String, Secret) -> WebForm,
    recognize: @escaping @Sendable (TransportResponse) -> SignInVerdict,
    signOut: (@Sendable (CookieJar) -> TransportRequest?)? = nil
  ) {
    self.baseURL = baseURL
    self.loginCookie = loginCookie
    self.signInPath = signInPath
    self.form = form
    self.recognize = recognize
    self.signOut = signOut
  }
}

/// What the page after a sign-in says.
public enum SignInVerdict: Sendable, Hashable {
  case success(Profile)
  /// The site said no, in its own short code, such as `wrong_credentials` or `banned`.
  case refused(code: String, detail: String?)
  /// The site cannot say now: it is down or closed.
  case unavailable
  /// No page that this program knows.
  case unknown
}
