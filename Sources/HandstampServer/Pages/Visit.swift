#if Server
import Crypto
import Foundation
import HTTPTypes
import HandstampCore
import HandstampRegistry
import Hummingbird

/// A browser's request to the server's pages.
struct Visit: Sendable {
  /// The signed-in account; `nil` if the browser is not signed in.
  var account: AccountRecord?
  /// The cookie of the web session as received, valid or not.
  var session: Secret?
  /// The cookie that forms are tied to; a new one if the request had none.
  var formCookie: String
  var isFormCookieNew: Bool
  /// The submitted form; `nil` unless the request is a POST.
  var form: FormBody?

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

extension SessionServer {
  /// Reads a browser's request. A session ID that this server did not issue is ignored and never adopted.
  ///
  /// - Throws: ``Problem`` for a form from another site, or from a browser that it was not shown in.
  func visit(_ request: Request, _ context: ServerContext) async throws -> Visit {
    let session = request.cookie(Cookie.session).map { Secret($0) }
    let known = request.cookie(Cookie.form).flatMap { $0.utf8.count == 22 ? $0 : nil }
    var account: AccountRecord?
    if let session {
      do throws(RegistryError) {
        account = try await registry.account(webSession: session, now: now())
      } catch { throw problem(error, context) }
    }
    var visit = Visit(
      account: account, session: session, formCookie: known ?? SessionServer.drawn(), isFormCookieNew: known == nil)
    guard request.method == .post else { return visit }
    let body = try await request.wholeBody(
      of: "application/x-www-form-urlencoded", upTo: min(configuration.bodyLimit, 16_384))
    guard let form = try? FormBody(body.readableBytesView) else {
      throw Problem.invalidRequest("The form is not valid.")
    }
    guard isFromHere(request), known != nil, let token = form["csrf"], Secret(token) == Secret(visit.token) else {
      throw Problem(
        .forbidden, "form_expired", "This form has expired", detail: "Go back, reload the page, and try again."
      )
    }
    visit.form = form
    return visit
  }

  /// Returns whether a form comes from this server, according to the browser's headers. Without them only the CSRF token
  /// decides.
  private func isFromHere(_ request: Request) -> Bool {
    if let site = request.headers[.secFetchSite], !["same-origin", "none"].contains(site) { return false }
    guard let origin = request.headers[.origin] else { return true }
    guard let own = URLComponents(string: configuration.issuer), let named = URLComponents(string: origin) else {
      return false
    }
    return named.scheme == own.scheme && named.host == own.host && named.port == own.port && named.path.isEmpty
  }

  private static func drawn() -> String {
    var random = SystemRandomNumberGenerator()
    return Base64URL.encode((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) })
  }

  /// Signs in with the form of ``signInPage(_:words:status:)`` and redirects to `target`.
  func signIn(by visit: Visit, backTo target: String, _ context: ServerContext) async throws -> Response {
    guard let form = visit.form, let email = EmailAddress(form["email"] ?? ""), let password = form["password"],
      (try? PasswordRule.check(attempt: Secret(password))) != nil
    else { return signInPage(visit, words: "The email address or the password is wrong") }
    let account: AccountRecord
    do throws(Problem) { account = try await whoever(has: email, Secret(password), context) } catch {
      return signInPage(visit, words: error.title, status: error.status == .unauthorized ? .ok : error.status)
    }
    do throws(RegistryError) {
      // End this browser's previous session: the ID changes with every sign-in.
      if let former = visit.session { try await registry.endWebSession(former) }
      let secret = try await registry.beginWebSession(of: account, now: now())
      return redirect(
        to: target,
        [
          Cookie(
            name: Cookie.session, value: secret.secret.withExposed { $0 },
            life: WebSessionLimits.life.components.seconds),
          Cookie(name: Cookie.form, value: nil),
        ])
    } catch { throw problem(error, context) }
  }

  /// Signs this browser out and redirects to `target`.
  func signOut(by visit: Visit, backTo target: String, _ context: ServerContext) async throws -> Response {
    do throws(RegistryError) {
      if let former = visit.session { try await registry.endWebSession(former) }
    } catch { throw problem(error, context) }
    return redirect(to: target, [Cookie(name: Cookie.session, value: nil), Cookie(name: Cookie.form, value: nil)])
  }

  func signInPage(
    _ visit: Visit, words: String? = nil, status: HTTPResponse.Status = .ok
  ) -> Response {
    let error: HTML = words.map { "<p class=\"error\" role=\"alert\">\($0)</p>" } ?? ""
    return Page(
      title: "Sign in",
      content: """
        \(error)<form method="post">\(visit.field)\
        <label for="email">Email address</label>\
        <input id="email" name="email" type="email" autocomplete="username" required autofocus>\
        <label for="password">Password</label>\
        <input id="password" name="password" type="password" autocomplete="current-password" required>\
        <button name="action" value="sign-in">Sign in</button></form>
        """,
      status: status, cookies: visit.cookies
    ).response(of: configuration.issuer)
  }

  /// Redirects with 303: the browser loads the page with GET and drops the form.
  func redirect(to address: String, _ cookies: [Cookie] = []) -> Response {
    var headers: HTTPFields = [.location: address, .cacheControl: "no-store"]
    for cookie in cookies { headers.append(HTTPField(name: .setCookie, value: cookie.field)) }
    return Response(status: .seeOther, headers: headers)
  }

  func errorPage(_ words: String, _ visit: Visit? = nil, status: HTTPResponse.Status = .badRequest) -> Response {
    Page(title: "Something went wrong", content: "<p>\(words)</p>", status: status, cookies: visit?.cookies ?? [])
      .response(of: configuration.issuer)
  }
}
#endif
