#if Server
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// One of the server's own pages, without scripts, images or external resources.
struct Page {
  var title: String
  var content: HTML
  var status = HTTPResponse.Status.ok
  var cookies: [Cookie] = []
  /// A further allowed target of the page's form: browsers apply `form-action` to the redirect after the form, too.
  var leadsTo: String?

  private static let style = """
    body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:3rem auto;padding:0 1rem;color:#111;background:#fff}
    label{display:block;margin:1rem 0 .25rem}input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem}
    button{font:inherit;margin:1rem .5rem 0 0;padding:.5rem 1rem}.code{font:1.5rem ui-monospace,monospace}
    .error{color:#a00000}@media(prefers-color-scheme:dark){body{color:#eee;background:#111}.error{color:#ff9090}}
    """
  private static let styleHash = Data(SHA256.hash(data: Array(style.utf8))).base64EncodedString()

  /// - Parameter issuer: the server's public address. If it is `https`, HSTS is enabled.
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
    // Not `no-referrer`: browsers would then not send the origin of a form.
    headers[.referrerPolicy] = "same-origin"
    headers[.xFrameOptions] = "DENY"
    headers[.crossOriginOpenerPolicy] = "same-origin"
    for cookie in cookies { headers.append(HTTPField(name: .setCookie, value: cookie.field)) }
    return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: html.text)))
  }

  /// Returns the origin of an address, or an app's custom scheme, as a source expression (CSP Level 3, section 2.3.1).
  private static func source(_ address: String) -> String? {
    guard let parts = URLComponents(string: address), let scheme = parts.scheme else { return nil }
    guard ["http", "https"].contains(scheme.lowercased()), let host = parts.host else { return scheme + ":" }
    return "\(scheme)://\(host)" + (parts.port.map { ":\($0)" } ?? "")
  }
}

/// A host-only cookie (RFC 6265bis section 4.1.3.2).
struct Cookie: Sendable {
  /// The web session of this browser.
  static let session = "__Host-handstamp-session"
  /// Recognizes a browser that an account was used in.
  static let device = "__Host-handstamp-device"
  /// Ties a form to the browser that it was shown in.
  static let form = "__Host-handstamp-form"

  var name: String
  /// `nil` deletes the cookie.
  var value: String?
  var life: Int64?

  var field: String {
    let age = value == nil ? "; Max-Age=0" : life.map { "; Max-Age=\($0)" } ?? ""
    return "\(name)=\(value ?? ""); Path=/; Secure; HttpOnly; SameSite=Lax" + age
  }
}

extension Request {
  /// Returns the value of a cookie, or `nil` if it is missing, or present twice: one of the two may have been planted.
  func cookie(_ name: String) -> String? {
    let values = headers[values: .cookie].flatMap { $0.split(separator: ";") }
      .map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
    return values.count == 1 && !(values[0].isEmpty) ? values[0] : nil
  }
}
#endif
