import HandstampSupport

extension String {
  /// Whether two URLs name the same server: they differ at most in the case of scheme and host, the usual port, a dot at the end of
  /// the host, and slashes at the end.
  package func isSameServer(as other: String) -> Bool { self == other || serverName == other.serverName }

  private var serverName: String {
    guard let url = WebURL(self) else { return self }
    let host = url.origin.host.hasSuffix(".") ? String(url.origin.host.dropLast()) : url.origin.host
    var path = url.path
    while path.hasSuffix("/") { path.removeLast() }
    return Origin(scheme: url.origin.scheme, host: host, port: url.origin.port).text + path
  }
}
