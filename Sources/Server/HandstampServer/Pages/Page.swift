#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// A text of the pages: its key, and the values in it.
struct PageText: Sendable, Hashable, ExpressibleByStringLiteral {
  var key: String
  var values: PageContext = [:]

  init(_ key: String, _ values: PageContext = [:]) {
    self.key = key
    self.values = values
  }
  init(stringLiteral key: String) { self.key = key }
}

/// One of the server's own pages.
struct Page: Sendable {
  /// The template.
  var name: String
  var title: PageText
  var context: PageContext = [:]
  var status = HTTPResponse.Status.ok
  var cookies: [ResponseCookie] = []
  /// A further allowed target of the page's form: browsers apply `form-action` to the redirect after the form, too.
  var leadsTo: String?
  /// Texts of the context, by name.
  var texts: [String: PageText] = [:]
  /// Texts beside fields, by the names of these.
  var errors: [String: PageText] = [:]
  /// The notice above the page's content.
  var notice: PageNotice?
  /// The ways on from a message.
  var actions: [PageAction] = []
  /// Its section in the navigation of the account; `nil` for a page without.
  var section: AccountSection?
}

/// The notice that a page begins with.
struct PageNotice: Sendable, Hashable {
  enum Kind: String, Sendable { case good, note, warning }
  var kind: Kind
  var text: PageText

  static func good(_ text: PageText) -> PageNotice { PageNotice(kind: .good, text: text) }
  static func warning(_ text: PageText) -> PageNotice { PageNotice(kind: .warning, text: text) }

  /// The name of its symbol.
  var icon: String {
    switch kind {
    case .good: "check"
    case .note: "info"
    case .warning: "warning"
    }
  }
}

/// A section of the account's pages.
enum AccountSection: String, Sendable {
  case profile, email, security, devices, apps, activity, data
}

/// A link that leads on from a message.
struct PageAction: Sendable {
  var text: PageText
  var href: String
  var isPrimary = true
}

extension Page {
  /// A page that says what was done.
  static func message(
    _ name: String, _ values: PageContext = [:], icon: String = "check", detail: PageText? = nil,
    to actions: [PageAction]
  ) -> Page {
    var page = Page(name: "message", title: PageText("message.\(name).title", values))
    page.context["icon"] = .text(icon)
    page.texts["text"] = PageText("message.\(name).text", values)
    page.texts["detail"] = detail
    page.actions = actions
    return page
  }

  /// A page that says what is wrong, and how to go on.
  ///
  /// - Parameter reason: what the developer of a client needs to know, in English.
  static func error(
    _ name: String, _ values: PageContext = [:], reason: String? = nil, status: HTTPResponse.Status = .badRequest,
    to actions: [PageAction] = []
  ) -> Page {
    var page = Page(name: "error", title: PageText("error.\(name).title", values), status: status)
    page.context["reason"] = .text(ifPresent: reason)
    page.texts["text"] = PageText("error.\(name).text", values)
    page.actions = actions
    return page
  }
}

/// A host-only cookie (RFC 6265bis section 4.1.3.2).
struct ResponseCookie: Sendable {
  /// The session of this browser.
  static let session = "__Host-handstamp-session"
  /// Recognizes a browser that an account was used in.
  static let device = "__Host-handstamp-device"
  /// Ties a form to the browser that it was shown in.
  static let form = "__Host-handstamp-form"
  /// That the browser is another person's, as its user says in a sign-in of several steps. It goes with the last one.
  static let borrowed = "__Host-handstamp-borrowed"
  /// The language that its user has chosen.
  static let language = "__Host-handstamp-language"

  /// The life of a cookie without an end of its own: browsers keep it for at most 400 days (RFC 6265bis section 5.5).
  static let longest: Int64 = 400 * 86_400

  /// The cookies that a browser deletes when it is signed out. The one that recognizes the browser stays.
  static let signedOut = [session, borrowed].map { ResponseCookie(name: $0, value: nil) }

  var name: String
  /// `nil` deletes the cookie.
  var value: String?
  var life: Int64?

  var field: String {
    let age = value == nil ? "; Max-Age=0" : life.map { "; Max-Age=\($0)" } ?? ""
    return "\(name)=\(value ?? ""); Path=/; Secure; HttpOnly; SameSite=Lax" + age
  }

  /// A new value, at random.
  static func drawn() -> String { Base64URL.encode(randomBytes(16)) }
}

extension HTTPFields {
  mutating func add(_ cookies: [ResponseCookie]) {
    for cookie in cookies { append(HTTPField(name: .setCookie, value: cookie.field)) }
  }
}

extension Registry {
  /// The cookies of a browser whose session has begun. A borrowed one is not recognized later, and the next sign-in asks anew whether
  /// it is one.
  func cookies(of new: BrowserSession, device: String) -> [ResponseCookie] {
    let session = ResponseCookie(
      name: ResponseCookie.session, value: new.cookie.withExposed { $0 }, life: cookieLife(of: new.row))
    let both = [session, ResponseCookie(name: ResponseCookie.borrowed, value: nil)]
    guard !new.row.isBorrowed else { return both }
    let life = Registry.deviceMemory.components.seconds
    return both + [ResponseCookie(name: ResponseCookie.device, value: device, life: life)]
  }

  /// How long a browser keeps the cookies of its session, in seconds; `nil` until it is closed.
  func cookieLife(of row: SessionRow) -> Int64? {
    switch row.persistence {
    case .persistent: limits.browserAbsoluteLimit?.components.seconds ?? ResponseCookie.longest
    case .ephemeral: nil
    }
  }
}

extension Request {
  /// Returns the value of a cookie that has the size of ``ResponseCookie/drawn()``.
  func drawnCookie(_ name: String) -> String? { cookie(name).flatMap { $0.utf8.count == 22 ? $0 : nil } }

  /// Returns the value of a cookie, or `nil` if it is missing, or present twice: one of the two may have been planted.
  func cookie(_ name: String) -> String? {
    var values: [Substring] = []
    for field in headers[values: .cookie] {
      for pair in field.split(separator: ";") {
        let pair = pair.drop { $0 == " " }
        if pair.hasPrefix(name + "=") { values.append(pair.dropFirst(name.count + 1)) }
      }
    }
    guard values.count == 1, let value = values.first, !value.isEmpty else { return nil }
    return String(value)
  }
}
#endif
