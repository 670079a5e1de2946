#if Server
import Crypto
import Foundation
import HandstampSupport
import HTTPTypes
import HandstampCore
import HandstampRegistry
import Hummingbird

/// A browser's request to the server's pages.
struct Visit: Sendable {
  /// `nil` if the browser is not signed in.
  var web: WebSession?
  /// The cookie of the web session as received, valid or not.
  var session: Secret?
  /// The cookie that recognizes this browser at its next sign-in; a new one if the request had none.
  var device: String
  /// The cookie that forms are tied to; a new one if the request had none.
  var formCookie: String
  var isFormCookieNew: Bool
  /// The submitted form; `nil` unless the request is a POST.
  var form: FormBody?

  /// The signed-in account; `nil` if the browser is not signed in.
  var account: AccountRecord? { web?.account }

  /// The CSRF token of this browser's forms. It depends on both cookies: other sites can neither read them nor set cookies with
  /// these names for this host.
  var token: String {
    let session = session?.withExposed { $0 } ?? ""
    return Base64URL.encode(SHA256.hash(data: Array("handstamp form \(formCookie) \(session)".utf8)))
  }

  /// The hidden field with the CSRF token, which every form needs.
  var field: HTML { "<input type=\"hidden\" name=\"csrf\" value=\"\(token)\">" }

  var cookies: [Cookie] { isFormCookieNew ? [Cookie(name: Cookie.form, value: formCookie)] : [] }
}
#endif
