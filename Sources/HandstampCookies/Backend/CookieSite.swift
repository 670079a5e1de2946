public import Foundation
public import HandstampCore

/// Describes a site that signs users in with a form and recognizes them by a cookie.
public struct CookieSite: Sendable {
  /// The site's URL; cookies and forms are sent only to its origin.
  public var baseURL: URL
  /// The name of the cookie that is the session, such as `bbuserid`: a client that has it is signed in.
  public var loginCookie: String
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
