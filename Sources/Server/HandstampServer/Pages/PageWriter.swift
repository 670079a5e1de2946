#if Server
import Crypto
import Foundation
import HTTPTypes
import HandstampRegistry
import HandstampSupport
import Hummingbird
import NIOCore

/// The reader of a page: the language, and the address.
struct PageReader: Sendable {
  var language: String
  /// The path and the query of the page, for links to it in other languages.
  var here: String
  /// The token of the page's forms; `nil` for a page without.
  var token: String?
  /// The name of the signed-in user.
  var person: String?
  /// Whether the box "This is not my device" has a tick.
  var isBorrowed = false
  /// The `Accept-Language` of the request.
  var accepted: String?
  /// The cookie that the language has in this browser, if the user has just chosen one; deleted if that is for the account.
  var cookie: ResponseCookie?
}

/// Writes the server's own pages, see ``PageLibrary``.
struct PageWriter: Sendable {
  let library: PageLibrary
  let assets: PageAssets
  /// The server's public address.
  let issuer: String
  /// The name of the service.
  let siteName: String
  /// The path of the issuer, which precedes every route.
  let base: String
  /// The paths of providers' images, by the providers' IDs.
  let logos: [String: String]
  private let site: PageContext
  private let style: String
  private let script: String

  init(
    _ settings: PageSettings, issuer: String, mountPath: String, providers: [UpstreamProvider] = []
  ) throws(ServerConfigurationError) {
    do throws(DescribedError) { library = try PageLibrary(folder: settings.folder) } catch { throw .pages("\(error)") }
    self.issuer = issuer
    base = mountPath
    var colors = ""
    if let accent = settings.accent {
      guard let color = AccentColor(accent) else { throw .accent(accent) }
      colors = color.style
    }
    var assets = PageAssets()
    let sheet = library.style.replacingOccurrences(of: "/*BRAND*/", with: colors)
    style = assets.add(Array(sheet.utf8), type: "text/css; charset=utf-8", stem: "pages", suffix: "css")
    script = assets.add(
      Array(library.script.utf8), type: "text/javascript; charset=utf-8", stem: "pages", suffix: "js")
    siteName = settings.name ?? URLComponents(string: issuer)?.host ?? issuer
    var site: PageContext = ["name": .text(siteName)]
    let icon = settings.logo ?? PageSettings.Image(bytes: Array(library.icon.utf8), type: "image/svg+xml")
    let path: PageValue = .text(
      "\(base)/assets/\(assets.add(icon.bytes, type: icon.type, stem: "icon", suffix: "img"))")
    site["icon"] = path
    if settings.logo != nil { site["logo"] = path }
    var logos: [String: String] = [:]
    for provider in providers {
      guard let logo = provider.logo else { continue }
      logos[provider.id] = "\(base)/assets/\(assets.add(logo.bytes, type: logo.type, stem: "logo", suffix: "img"))"
    }
    self.logos = logos
    if !settings.links.isEmpty {
      site["links"] = .list(settings.links.map { .object(["text": .text($0.text), "href": .text($0.address)]) })
    }
    self.site = site
    self.assets = assets
  }

  /// Returns how the user of a browser reads a page.
  ///
  /// - Parameter locale: the language of the signed-in account.
  func reader(of request: Request, locale: LanguageTag? = nil) -> PageReader {
    let fields = (request.uri.query ?? "").split(separator: "&")
    let asked = fields.last { $0.hasPrefix("lang=") }.map { String($0.dropFirst("lang=".count)) }
    let chosen = asked.flatMap { library.languages.contains($0) ? $0 : nil }
    let kept = request.cookie(ResponseCookie.language).flatMap { library.languages.contains($0) ? $0 : nil }
    let accepted = request.headers[.acceptLanguage]
    let rest = fields.filter { !$0.hasPrefix("lang=") }.joined(separator: "&")
    return PageReader(
      language: chosen ?? kept ?? language(of: locale, accepted),
      here: PageWriter.local(request.uri.path) + (rest.isEmpty ? "" : "?" + rest), accepted: accepted,
      cookie: chosen.map { ResponseCookie(name: ResponseCookie.language, value: $0, life: ResponseCookie.longest) })
  }

  /// Returns the reader after a choice for the account, which holds in all browsers: this one forgets a choice of its own.
  func reader(_ reader: PageReader, choosing locale: LanguageTag?) -> PageReader {
    var reader = reader
    reader.language = language(of: locale, reader.accepted)
    reader.cookie = ResponseCookie(name: ResponseCookie.language, value: nil)
    return reader
  }

  private func language(of locale: LanguageTag?, _ accepted: String?) -> String {
    LanguageChoice.match(locale?.rawValue, of: library.languages)
      ?? LanguageChoice.best(accepted, of: library.languages)
  }

  /// Returns the address at the issuer of the page that a request is for.
  func address(of request: Request) -> String {
    (Origin(issuer)?.text ?? issuer) + request.uri.path + (request.uri.query.map { "?" + $0 } ?? "")
  }

  /// Returns a path that browsers take for nothing else: to them `\` is a slash, and two at the beginning name another host.
  private static func local(_ path: String) -> String {
    var bytes = Array("/".utf8)
    for byte in path.utf8.drop(while: { $0 == UInt8(ascii: "/") }) {
      if (33...126).contains(byte), byte != UInt8(ascii: "\\") {
        bytes.append(byte)
      } else {
        PercentEncoding.escape(byte, into: &bytes)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  func response(_ page: Page, to reader: PageReader) -> Response {
    let html = library.page(page.name, context(of: page, for: reader), in: reader.language)
    var response = Response(
      status: page.status, headers: headers(leadingTo: page.leadsTo),
      body: .init(byteBuffer: ByteBuffer(string: html)))
    response.headers.add(page.cookies + [reader.cookie].compactMap(\.self))
    return response
  }

  /// Returns one template without the layout.
  func fragment(_ page: Page, to reader: PageReader) -> Response {
    let html = library.fragment(page.name, context(of: page, for: reader), in: reader.language)
    return Response(status: .ok, headers: headers(leadingTo: nil), body: .init(byteBuffer: ByteBuffer(string: html)))
  }

  /// Returns a text for a value of a context.
  func text(_ text: PageText, in language: String) -> String {
    library.text(text.key, PageContext(dictionaryLiteral: ("site", .object(site))).adding(text.values), in: language)
      ?? text.key
  }

  private func context(of page: Page, for reader: PageReader) -> PageContext {
    let language = reader.language
    func text(_ text: PageText) -> PageValue { .text(self.text(text, in: language)) }
    var context = page.context
    context["lang"] = .text(language)
    context["title"] = text(page.title)
    context["site"] = .object(site)
    context["css"] = .text("\(base)/assets/\(style)")
    context["js"] = .text("\(base)/assets/\(script)")
    context["base"] = .text(base)
    context["borrowed"] = .flag(if: reader.isBorrowed)
    // Base64, which needs no escapes.
    context["csrf"] = .text(reader.token.map { "<input type=\"hidden\" name=\"csrf\" value=\"\($0)\">" } ?? "")
    for (name, value) in page.texts { context[name] = text(value) }
    if !page.errors.isEmpty {
      var errors: PageContext = [:]
      for (name, value) in page.errors { errors[name] = text(value) }
      context["errors"] = .object(errors)
    }
    if let notice = page.notice {
      context["notice"] = .object([
        "kind": .text(notice.kind.rawValue), "icon": .text(notice.icon), "text": text(notice.text),
      ])
    }
    if page.name == "message" || page.name == "error" {
      context["actions"] = .list(
        page.actions.map { action in
          .object([
            "text": text(action.text), "href": .text(action.href), "is_primary": .flag(if: action.isPrimary),
          ])
        })
    }
    if let section = page.section {
      context["console"] = .object(["person": .text(reader.person ?? ""), "at_\(section.rawValue)": .flag])
    }
    context["languages"] = languages(for: reader)
    return context
  }

  private func languages(for reader: PageReader) -> PageValue {
    let separator = reader.here.contains("?") ? "&" : "?"
    return .list(
      library.languages.map { code in
        .object([
          "name": .text(library.name(ofLanguage: code)), "code": .text(code),
          "is_current": .flag(if: code == reader.language), "href": .text("\(reader.here)\(separator)lang=\(code)"),
        ])
      })
  }

  private func headers(leadingTo address: String?) -> HTTPFields {
    var headers: HTTPFields = [
      .contentType: "text/html; charset=utf-8", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
      .vary: "Accept-Language, Cookie",
      .contentSecurityPolicy:
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        + "base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
        + (address.flatMap(PageWriter.source).map { " " + $0 } ?? ""),
    ]
    // Not `no-referrer`: browsers would then not send the origin of a form.
    headers[.referrerPolicy] = "same-origin"
    headers[.xFrameOptions] = "DENY"
    headers[.crossOriginOpenerPolicy] = "same-origin"
    return headers
  }

  /// Returns the origin of an address, or an app's custom scheme, as a source expression (CSP Level 3, section 2.3.1).
  private static func source(_ address: String) -> String? {
    guard let parts = URLComponents(string: address), let scheme = parts.scheme else { return nil }
    guard ["http", "https"].contains(scheme.lowercased()), let host = parts.host else { return scheme + ":" }
    return "\(scheme)://\(host)" + (parts.port.map { ":\($0)" } ?? "")
  }
}

/// The files that pages load. Their names change with their contents, so browsers keep them.
struct PageAssets: Sendable {
  private struct Asset: Sendable {
    var body: ByteBuffer
    var type: String
  }

  private var byName: [String: Asset] = [:]

  /// Adds a file, and returns its name.
  mutating func add(_ bytes: [UInt8], type: String, stem: String, suffix: String) -> String {
    let name = "\(stem)-\(Base64URL.encode(SHA256.hash(data: bytes).prefix(9))).\(suffix)"
    byName[name] = Asset(body: ByteBuffer(bytes: bytes), type: type)
    return name
  }

  func response(_ name: String) throws(ProblemError) -> Response {
    guard let asset = byName[name] else { throw .notFound }
    return Response(
      status: .ok,
      headers: [
        .contentType: asset.type, .cacheControl: "public, max-age=31536000, immutable",
        .xContentTypeOptions: "nosniff",
        .contentSecurityPolicy:
          "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; sandbox",
      ], body: .init(byteBuffer: asset.body))
  }
}
#endif
