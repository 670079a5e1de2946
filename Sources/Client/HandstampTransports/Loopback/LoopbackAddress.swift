#if LoopbackRedirect
import Foundation
public import HandstampCore

/// A redirect URI on this machine, as registered with an authorization server (RFC 8252 section 7.3).
///
/// | text | listens on |
/// |---|---|
/// | `http://127.0.0.1:8085/callback` | 127.0.0.1, port 8085 |
/// | `http://localhost:8085` | 127.0.0.1 and ::1, port 8085 |
/// | `http://[::1]/back` | ::1, any free port |
public struct LoopbackAddress: Sendable, Hashable {
  /// Scheme and host, as written.
  private let origin: String
  /// The path as written; may be empty.
  private let writtenPath: String
  /// The port; `nil` means any free port.
  public let port: Int?
  /// The addresses to listen on. Only the first is required.
  let hosts: [String]

  /// - Throws: ``RedirectError/unavailable(_:)`` with the reason for anything but `http` to `127.0.0.1`, `[::1]` or `localhost`, and for an address with a
  ///   user, a query or a fragment: redirects add their own query (RFC 6749 section 4.1.2), and must not have a
  ///   fragment (section 3.1.2).
  public init(parsing text: String) throws(RedirectError) {
    guard text.utf8.allSatisfy({ (33...126).contains($0) }), let parts = URLComponents(string: text),
      parts.scheme != nil, let host = parts.host, let start = text.range(of: "://")
    else { throw .unavailable("not a valid URL") }
    guard parts.scheme?.lowercased() == "http" else { throw .unavailable("its scheme is not http") }
    guard parts.user == nil, parts.query == nil, parts.fragment == nil else {
      throw .unavailable("it has a user, a query or a fragment")
    }
    switch host.lowercased() {
    case "127.0.0.1": hosts = ["127.0.0.1"]
    case "localhost": hosts = ["127.0.0.1", "::1"]
    case "::1", "[::1]": hosts = ["::1"]
    default: throw .unavailable("its host is not this machine")
    }
    if let port = parts.port {
      guard (1...65_535).contains(port) else { throw .unavailable("its port is not between 1 and 65535") }
    }
    port = parts.port
    let rest = text[start.upperBound...]
    writtenPath = String(rest[(rest.firstIndex(of: "/") ?? rest.endIndex)...])
    let written = rest.prefix { $0 != "/" }
    // Without the port, which is appended later.
    let bare = parts.port == nil ? written : written[..<(written.lastIndex(of: ":") ?? written.endIndex)]
    origin = String(text[..<start.upperBound] + bare)
    guard parts.port != nil || !written.hasSuffix(":") else { throw .unavailable("not a valid URL") }
  }

  /// An address on `127.0.0.1`, any free port.
  init(_ trusted: String) {
    origin = "http://127.0.0.1"
    writtenPath = String(trusted.dropFirst(origin.count))
    port = nil
    hosts = ["127.0.0.1"]
  }

  /// The path that a browser requests.
  var path: String { writtenPath.isEmpty ? "/" : writtenPath }

  func text(port: Int) -> String { "\(origin):\(port)\(writtenPath)" }
}
#endif
