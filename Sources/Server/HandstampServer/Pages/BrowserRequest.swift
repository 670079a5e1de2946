#if Server
import Crypto
import Foundation
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// A browser's request to the server's pages.
struct BrowserRequest: Sendable {
  /// `nil` if the browser is not signed in.
  var web: BrowserSession?
  /// A session whose user may only set up a new factor, on the page for that; any other takes the browser as not signed in.
  var recovering: BrowserSession?
  /// The cookie of the session as received, valid or not.
  var session: Secret?
  /// The name of the provider where the browser's session ended; `nil` if it did not end so.
  var providerOfEnd: String?
  /// The cookie that recognizes this browser at its next sign-in; a new one if the request had none.
  var device: String
  var userAgent: String
  /// The cookie that forms are tied to; a new one if the request had none.
  var formCookie: String
  var isFormCookieNew: Bool
  /// Whether the browser is another person's, as a script says; `nil` for pages.
  var saidByScript: SessionPersistence?
  /// Whether the browser's session is borrowed, or the next one is to be, as an earlier form of the same sign-in said.
  var wasBorrowed: Bool
  let errors: ErrorMapper
  /// The language and the address of the page.
  var place: PageReader
  var caller: AccountService.Caller
  /// The parameters in the address.
  var query: FormFields?
  /// The submitted form; `nil` unless the request is a POST.
  var form: FormFields?

  var pages: PageWriter { errors.pages }

  /// The browser's name for itself, such as "Firefox on Linux".
  var name: String { BrowserName(userAgent: userAgent).text }

  /// The browser as a device of an account. A borrowed one is another device at each sign-in, so that no account knows it afterwards.
  var browser: DeviceInfo {
    DeviceInfo(id: DeviceID("browser " + (isBorrowed ? formCookie : device)), name: name, platform: "web")
  }

  /// Whether the browser is another person's, as this very request says; `nil` if it does not. Forms with the box say `asks`, as a box
  /// without a tick says nothing.
  var said: SessionPersistence? {
    if form?["borrowed"] != nil { return .ephemeral }
    return form?["asks"] == "borrowed" ? .persistent : saidByScript
  }

  var persistence: SessionPersistence { said ?? (wasBorrowed ? .ephemeral : .persistent) }

  var isBorrowed: Bool { persistence == .ephemeral }

  /// The signed-in account; `nil` if the browser is not signed in.
  var account: AccountRecord? { web?.account }

  /// The button that was pressed; of a form that was sent without one, as password managers do, the one that it is for. The buttons of
  /// providers are in the form of the other ways to sign in.
  var action: String? {
    form?["action"] ?? (form?["provider"] != nil && form?["main"] != "link" ? "provider" : form?["main"])
  }

  /// Whether the form signs in.
  var signsIn: Bool { ["sign-in", "passkey", "provider", "second-factor"].contains(action) }

  /// The CSRF token of this browser's forms. It depends on both cookies: other sites can neither read them nor set cookies with
  /// these names for this host.
  var token: String {
    let session = session?.withExposed { $0 } ?? ""
    return Base64URL.encode(SHA256.hash(data: Array("handstamp form \(formCookie) \(session)".utf8)))
  }

  /// The reader of the response.
  var reader: PageReader {
    var reader = place
    reader.token = token
    reader.person = account?.shownName
    reader.isBorrowed = isBorrowed
    return reader
  }

  /// The cookie of forms, and the one that keeps what the box says for the steps of a sign-in that have none, such as the way back from
  /// a provider.
  var cookies: [ResponseCookie] {
    let form = isFormCookieNew ? [ResponseCookie(name: ResponseCookie.form, value: formCookie)] : []
    guard isBorrowed != wasBorrowed else { return form }
    return form + [ResponseCookie(name: ResponseCookie.borrowed, value: isBorrowed ? "1" : nil)]
  }
}

/// Addresses, and what a page answers.
extension BrowserRequest {
  /// The address of the page that the request is for.
  var address: String { pages.issuer + path }

  /// The path of that page below the issuer, and its query, as `?next=` has them.
  var path: String { String(place.here.dropFirst(pages.base.utf8.count)) }

  /// The page for signing in, which leads back to that of the request.
  var signInAddress: String { pages.issuer + "/sign-in?next=" + PercentEncoding.encode(path) }

  /// The same page again, for a form of a user whom another tab has signed out. Without the cookie of forms, only the error helps.
  var reloadAddress: String? { web == nil && !isFormCookieNew ? address : nil }

  func show(_ page: Page) -> Response {
    var page = page
    page.cookies += cookies
    return pages.response(page, to: reader)
  }

  /// Says that a mail is on its way.
  func sent(_ name: String, to email: EmailAddress) -> Response {
    show(
      .message(
        name, ["email": .text(email.typed)], icon: "mail", detail: "message.mail_detail",
        to: [PageAction(text: "common.back_to_sign_in", href: pages.base + "/sign-in", isPrimary: false)]))
  }

  /// Says that a form has no button of this name.
  func unknownAction() -> Response {
    show(.error("form_expired", to: [PageAction(text: "action.try_again", href: place.here)]))
  }

  /// Says that a client's request cannot be answered.
  func invalidRequest(_ reason: String) -> Response {
    show(
      .error(
        "request_invalid", reason: reason,
        to: [PageAction(text: "action.to_account", href: pages.base + "/account", isPrimary: false)]))
  }

  /// The times on a page.
  func dates(at now: UnixTime) -> PageDates { PageDates(pages: pages, language: place.language, now: now) }

  func text(_ text: PageText) -> String { pages.text(text, in: place.language) }

  func sessionName(_ row: SessionRow) -> String { pages.sessionName(row, in: place.language) }

  /// The client that asked for a sign-in, in the texts of its pages.
  func app(_ purpose: SignInPages.Purpose) -> PageValue? {
    purpose.asked.map { .object(pages.app($0.client.id, named: $0.client.name, in: place.language)) }
  }
}

extension AccountRecord {
  /// The name of the account as shown to its owner.
  var shownName: String { username.isEmpty ? email?.typed ?? "" : username }

  /// The signed-in user, on a page.
  var person: PageValue {
    .object(["name": .text(shownName), "email": .text(ifPresent: email?.typed)])
  }
}
#endif
