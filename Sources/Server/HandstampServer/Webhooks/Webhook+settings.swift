#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

extension Webhook.Settings {
  /// The URL as it is requested; `nil` for one that is not allowed. All parsers have to read the same host in it, because the
  /// connection is pinned to that host's address.
  var address: WebURL? {
    guard url.utf8.count <= 1024, url.utf8.allSatisfy({ (33...126).contains($0) }), !url.contains("#"),
      let address = WebURL(url), address.origin.scheme == "https" || allowsPrivate
    else { return nil }
    return address
  }

  /// Whether the name can be one.
  var hasValidName: Bool {
    (1...64).contains(name.utf8.count) && name.utf8.allSatisfy(\.isOfName)
  }
}

extension WebURL {
  /// The URL with its host in lower case.
  var text: String { origin.text + path + (query.map { "?" + $0 } ?? "") }
}
#endif
