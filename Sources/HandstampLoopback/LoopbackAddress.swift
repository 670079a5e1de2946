#if LoopbackRedirect
import Foundation

/// A redirect address on this very machine, as it is registered at an authorization server (RFC 8252 section 7.3).
///
/// | text | listens on |
/// |---|---|
/// | `http://127.0.0.1:8085/callback` | 127.0.0.1, port 8085 |
/// | `http://localhost:8085` | 127.0.0.1 and ::1, port 8085 |
/// | `http://[::1]/back` | ::1, any free port |
public struct LoopbackAddress: Sendable, Hashable {
  /// Scheme and host, as they were written.
  private let origin: String
  /// As it was written; may be empty.
  private let writtenPath: String
  /// `nil`: any free port.
  public let port: Int?
  /// The addresses to listen on; the first one must be there.
  let hosts: [String]

  /// Why a text is not such an address.
  public struct Invalid: Error, Sendable, Hashable {
    public let reason: String
  }

  /// - Throws: ``Invalid`` for anything but `http` to `127.0.0.1`, `[::1]` or `localhost`, and for an address with a user, a
  ///   query or a fragment: redirects add their own query (RFC 6749 section 4.1.2), and may have no fragment (section 3.1.2).
  public init(parsing text: String) throws(Invalid) {
    guard text.utf8.allSatisfy({ (33...126).contains($0) }), let parts = URLComponents(string: text),
      parts.scheme != nil, let host = parts.host, let start = text.range(of: "://")
    else { throw Invalid(reason: "it is not a URL") }
    guard parts.scheme?.lowercased() == "http" else { throw Invalid(reason: "its scheme is not http") }
    guard parts.user == nil, parts.query == nil, parts.fragment == nil else {
      throw Invalid(reason: "it has a user, a query or a fragment")
    }
    switch host.lowercased() {
    case "127.0.0.1": hosts = ["127.0.0.1"]
    case "localhost": hosts = ["127.0.0.1", "::1"]
    case "::1", "[::1]": hosts = ["::1"]
    default: throw Invalid(reason: "its host is not this machine")
    }
    if let port = parts.port {
      guard (1...65_535).contains(port) else { throw Invalid(reason: "its port is not between 1 and 65535") }
    }
    port = parts.port
    let rest = text[start.upperBound...]
    writtenPath = String(rest[(rest.firstIndex(of: "/") ?? rest.endIndex)...])
    let written = rest.prefix { $0 != "/" }
    // Without its port, which is put back as it was.
    let bare = parts.port == nil ? written : written[..<(written.lastIndex(of: ":") ?? written.endIndex)]
    origin = String(text[..<start.upperBound] + bare)
    guard parts.port != nil || !written.hasSuffix(":") else { throw Invalid(reason: "it is not a URL") }
  }

  /// `127.0.0.1`, any free port.
  init(_ trusted: String) {
    origin = "http://127.0.0.1"
    writtenPath = String(trusted.dropFirst(origin.count))
    port = nil
    hosts = ["127.0.0.1"]
  }

  /// The path that a browser asks for.
  var path: String { writtenPath.isEmpty ? "/" : writtenPath }

  func text(port: Int) -> String { "\(origin):\(port)\(writtenPath)" }
}
#endif
