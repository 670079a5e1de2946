import Foundation
package import HandstampCore

/// The redirect that a browser sheet waits for.
package enum WebCallback: Sendable, Hashable {
  /// A scheme of the app's own. Another app may register the same one; the code that it could capture is worthless without the
  /// verifier (RFC 8252 section 8.1).
  case scheme(String)
  /// A place on a website that names the app as its own: no other app gets it.
  case https(host: String, path: String)

  /// - Parameters:
  ///   - scheme: That of the redirect URI.
  ///   - page: The URL of the sign-in or sign-out page, whose query has the redirect URI.
  package init(_ scheme: String, page: String) throws(RedirectError) {
    guard scheme.lowercased() == "https" else {
      self = .scheme(scheme)
      return
    }
    let items = URLComponents(string: page)?.queryItems ?? []
    let names = ["redirect_uri", "post_logout_redirect_uri"]
    guard let address = items.first(where: { names.contains($0.name) })?.value,
      let target = URLComponents(string: address), let host = target.host, !host.isEmpty
    else { throw .unavailable("the URL of the page has no redirect URI") }
    self = .https(host: host, path: target.path.isEmpty ? "/" : target.path)
  }
}
