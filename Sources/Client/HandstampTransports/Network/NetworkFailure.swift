package import HandstampCore

/// Failures to connect that the user's network or its settings cause. No byte of the request was sent. The raw values begin the texts
/// of ``TransportError/notConnected(_:)``, so that the command finds the hint for each.
package enum NetworkFailure: String, Sendable, CaseIterable {
  case proxyUnreachable = "the proxy cannot be reached"
  /// 407 to a request without credentials (RFC 9110 section 15.5.8), or 401, which some proxies send in its place.
  case proxyWantsCredentials = "the proxy requires a user name and a password"
  /// The same to a request with credentials.
  case proxyRefusesCredentials = "the proxy does not accept its user name and password"
  /// RFC 1928 section 3: this library offers a SOCKS proxy no password.
  case socksWantsCredentials = "the SOCKS proxy requires a user name and a password, which are not supported"
  case proxyRefuses = "the proxy refuses to connect to the server"
  case proxySilent = "the proxy did not connect in time"
  case proxyLost = "the proxy closed the connection before the request was sent"
  /// The certificate cannot be verified, and a proxy is in use.
  case intercepted = "the certificate is of no authority that is trusted here, or has expired, and a proxy is in use"
  /// Certificates of servers that are reached without a proxy; libcurl tells these three apart.
  case certificateUntrusted = "the server's certificate is of no authority that is trusted here"
  case certificateExpired = "the server's certificate has expired, or is not valid yet"
  case certificateOfAnotherHost = "the server's certificate is for another host"
  case certificateUnverified = "the server's certificate is not trusted here, or has expired"
  case authoritiesUnreadable = "the file with the trusted authorities cannot be read"
  case wantsCertificate = "the server ended the TLS handshake; it may want a client certificate, or another one"
  case certificateUnreadable = "the client certificate or its key cannot be read, or they do not belong together"
  case certificateMismatch = "the client certificate and its key do not belong together"
  case credentialsUnreadable = "the user name and password of the proxy cannot be read"
  case invalidSettings = "the settings of the network are not valid"
  /// As ``BuildPart/network`` says it.
  case notInBuild = "the use of proxies and of certificates in PEM is not in this build"

  /// The failure as an error, with details behind a colon.
  package func error(_ details: String? = nil) -> TransportError {
    .notConnected(details.map { "\(rawValue): \($0)" } ?? rawValue)
  }

  /// The refusal of an HTTP proxy that has answered `CONNECT` with this status.
  static func refusal(status: Int, of proxy: ProxyServer?) -> TransportError {
    let isKnown = proxy?.credentials != nil
    let failure: NetworkFailure = isKnown ? .proxyRefusesCredentials : .proxyWantsCredentials
    return ([401, 407].contains(status) ? failure : .proxyRefuses).error("status \(status)")
  }

  /// The failure that an error reports; `nil` for any other error.
  package init?(_ error: TransportError) {
    guard case .notConnected(let text) = error,
      let found = NetworkFailure.allCases.first(where: { text.hasPrefix($0.rawValue) })
    else { return nil }
    self = found
  }
}
