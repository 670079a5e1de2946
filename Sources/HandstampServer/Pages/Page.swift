#if Server
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// One of the server's own pages: no script, no picture, nothing from elsewhere.
struct Page {
  var title: String
  var content: HTML
  var status = HTTPResponse.Status.ok
  var cookies: [Cookie] = []
  /// Where the page's form may lead besides this server: browsers check it for the redirect that answers the form as well.
  var leadsTo: String?

  private static let style = """
    body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:3rem auto;padding:0 1rem;color:#111;background:#fff}
    label{display:block;margin:1rem 0 .25rem}input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem}
    button{font:inherit;margin:1rem .5rem 0 0;padding:.5rem 1rem}.code{font:1.5rem ui-monospace,monospace}
    .error{color:#a00000}@media(prefers-color-scheme:dark){body{color:#eee;background:#111}.error{color:#ff9090}}
    """
  private static let styleHash = Data(SHA256.hash(data: Array(style.utf8))).base64EncodedString()

  /// - Parameter issuer: the address under which the server is known; `https` there must stay `https`.
  func response(of issuer: String) -> Response {
    let html: HTML = """
      <!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">\
      <title>\(title)</title><style>\(HTML(stringLiteral: Page.style))</style></head>\
      <body><main><h1>\(title)</h1>\(content)</main></body></html>

      """
    var headers: HTTPFields = [
      .contentType: "text/html; charset=utf-8", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
      .contentSecurityPolicy:
        "default-src 'none'; style-src 'sha256-\(Page.styleHash)'; base-uri 'none'; frame-ancestors 'none'; "
        + "form-action 'self'" + (leadsTo.flatMap(Page.source).map { " " + $0 } ?? ""),
    ]
    // Not `no-referrer`: browsers would then hide from us where a form comes from.
    for (name, value) in [
      ("Referrer-Policy", "same-origin"), ("X-Frame-Options", "DENY"), ("Cross-Origin-Opener-Policy", "same-origin"),
    ] {
      if let name = HTTPField.Name(name) { headers[name] = value }
    }
    if issuer.hasPrefix("https:") { headers[.strictTransportSecurity] = "max-age=31536000; includeSubDomains" }
    for cookie in cookies { headers.append(HTTPField(name: .setCookie, value: cookie.field)) }
    return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: html.text)))
  }

  /// The origin of an address, or the scheme of an app's own, as a source of a policy (CSP Level 3, section 2.3.1).
  private static func source(_ address: String) -> String? {
    guard let parts = URLComponents(string: address), let scheme = parts.scheme else { return nil }
    guard ["http", "https"].contains(scheme.lowercased()), let host = parts.host else { return scheme + ":" }
    return "\(scheme)://\(host)" + (parts.port.map { ":\($0)" } ?? "")
  }
}

/// A cookie of this host alone (RFC 6265bis section 4.1.3.2).
struct Cookie: Sendable {
  /// Who is signed in at this browser.
  static let session = "__Host-handstamp-session"
  /// What ties a form to the browser that was shown it.
  static let form = "__Host-handstamp-form"

  var name: String
  /// Nothing to take it away.
  var value: String?
  var life: Int64?

  var field: String {
    let age = value == nil ? "; Max-Age=0" : life.map { "; Max-Age=\($0)" } ?? ""
    return "\(name)=\(value ?? ""); Path=/; Secure; HttpOnly; SameSite=Lax" + age
  }
}

extension Request {
  /// The value of a cookie; nothing for none, and for two of one name: one of them is somebody else's.
  func cookie(_ name: String) -> String? {
    let values = headers[values: .cookie].flatMap { $0.split(separator: ";") }
      .map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
    return values.count == 1 && !(values[0].isEmpty) ? values[0] : nil
  }
}
#endif
