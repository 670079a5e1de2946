public import Foundation
public import HandstampCore

/// Describes a site that signs users in with a form and recognizes them by a cookie.
public struct CookieSite: Sendable {
  /// The site's URL; cookies and forms are sent only to its origin.
  public var baseURL: URL
  /// The name of the cookie that is the session, such as `bbuserid`: a client that has it is signed in.
  public var loginCookie: String
  /// Whether a value of that cookie means that no user is signed in, such as `0` at vBulletin or `1` at phpBB (its guest). By default
  /// only an empty one.
  public var isSignedOut: @Sendable (_ value: String) -> Bool = { $0.isEmpty }
  /// The page whose form has hidden fields that the sign-in needs; `nil` (the default) if there is none.
  public var signInForm: SignInForm?
  /// The path of the sign-in form's target, relative to ``baseURL``.
  public var signInPath: String
  /// Returns the sign-in form.
  public var form: @Sendable (_ username: String, _ password: Secret) -> WebForm
  /// Distinguishes success from refusal by the page after all redirects.
  public var recognize: @Sendable (_ page: TransportResponse) -> SignInVerdict
  /// Returns the request that ends a session at the server. If it is or returns `nil`, a sign-out takes effect only on this
  /// device.
  public var signOut: (@Sendable (_ jar: CookieJar) -> TransportRequest?)?

  public init(
    baseURL: URL, loginCookie: String, signInPath: String,
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

  /// The page with the sign-in form, which a browser opens first: it sets cookies and has a token in hidden fields.
  public struct SignInForm: Sendable {
    /// The path of the page, relative to ``CookieSite/baseURL``.
    public var path: String
    /// Returns the hidden fields of the form, as the app's HTML parser finds them; `nil` for a page without the form.
    public var hiddenFields: @Sendable (_ page: TransportResponse) -> [WebForm.Field]?

    public init(path: String, hiddenFields: @escaping @Sendable (_ page: TransportResponse) -> [WebForm.Field]?) {
      self.path = path
      self.hiddenFields = hiddenFields
    }
  }

  /// ``baseURL`` as text.
  var base: String { baseURL.absoluteString }
}

/// The meaning of the page after a sign-in.
public enum SignInVerdict: Sendable, Hashable {
  /// The user is signed in.
  case success(Profile)
  /// The site refused, with its own short code, such as `wrong_credentials` or `banned`.
  case refused(code: String, detail: String?)
  /// The site is down or closed, so there is no decision.
  case unavailable
  /// A page that this program does not recognize.
  case unknown
}
