#if AsyncHTTPClient
import AsyncHTTPClient
import HandstampCore
import NIOCore
import NIOPosix
import NIOSSL

extension TransportError {
  /// Describes the failure without addresses and bodies.
  ///
  /// - Parameter proxy: the proxy that the connection was made through.
  init(_ error: any Error, through proxy: ProxyServer? = nil) {
    switch error {
    case let error as TransportError: self = error
    case is CancellationError: self = .cancelled
    case let error as HTTPClientError: self.init(client: error, through: proxy)
    case let error as NIOConnectionError:
      let causes = error.connectionErrors.map { $0.error } + [error.dnsAError, error.dnsAAAAError].compactMap { $0 }
      if let fault = causes.lazy.compactMap({ $0 as? NIOSSLError }).first {
        self.init(tls: fault, through: proxy)
        return
      }
      let reason = causes.lazy.compactMap { ($0 as? IOError)?.cause }.first ?? "the host cannot be found"
      // With a proxy, it is the one that is connected to.
      self = proxy == nil ? .notConnected(reason) : NetworkFailure.proxyUnreachable.error(reason)
    // ECONNREFUSED occurs only while connecting.
    case let error as IOError where error.errnoCode == ECONNREFUSED:
      self = proxy == nil ? .notConnected(error.cause) : NetworkFailure.proxyUnreachable.error(error.cause)
    case let error as IOError: self = .connectionLost(error.cause)
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      self = NetworkFailure.certificateOfAnotherHost.error()
    case let error as NIOSSLError: self.init(tls: error, through: proxy)
    case let error as BoringSSLError: self.init(alert: error)
    case is ChannelError: self = .connectionLost("the connection broke")
    // The errors of this module have no common type. They end a handshake, which is before the request.
    case _ where String(reflecting: type(of: error)).hasPrefix("NIOSOCKS."):
      let isOfMethod = "\(type(of: error))".contains("Authentication")
      self = (isOfMethod ? NetworkFailure.socksWantsCredentials : .proxyRefuses).error()
    default: self = .connectionLost(String(describing: type(of: error)))
    }
  }

  /// A server that requires a certificate tells of its absence by an alert, in TLS 1.3 after the client's handshake. It has processed
  /// no data by then (RFC 8446 section 4.4.2.4).
  private init(alert error: BoringSSLError) {
    self =
      TransportError.isOfClientCertificate("\(error)")
      ? NetworkFailure.wantsCertificate.error() : .connectionLost("TLS failed")
  }

  /// Whether the library's text of an error has one of the alerts by which a server refuses a client's certificate, or its absence.
  private static func isOfClientCertificate(_ text: String) -> Bool {
    ["CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "UNKNOWN_CA", "CERTIFICATE_UNKNOWN", "ALERT_HANDSHAKE_FAILURE"]
      .contains { text.contains($0) }
  }

  /// No request is sent before the handshake. Its errors have codes and source lines of the library, but nothing of the request.
  private init(tls error: NIOSSLError, through proxy: ProxyServer?) {
    switch error {
    case .handshakeFailed(let cause):
      let text = "\(cause)"
      let isUntrusted = text.contains("CERTIFICATE_VERIFY_FAILED")
      if isUntrusted, proxy != nil {
        self = NetworkFailure.intercepted.error()
        return
      }
      if !isUntrusted, TransportError.isOfClientCertificate(text) {
        self = NetworkFailure.wantsCertificate.error()
        return
      }
      self =
        isUntrusted
        ? NetworkFailure.certificateUnverified.error()
        : .notConnected("TLS failed: the server does not speak it, or no version of it that is known here")
    case .failedToLoadCertificate, .noSuchFilesystemObject: self = NetworkFailure.authoritiesUnreadable.error()
    case .unableToValidateCertificate:
      self = (proxy == nil ? NetworkFailure.certificateUnverified : .intercepted).error()
    case .uncleanShutdown: self = .connectionLost("the connection broke")
    default: self = .connectionLost("TLS failed")
    }
  }

  private init(client error: HTTPClientError, through proxy: ProxyServer?) {
    switch error {
    case .proxyAuthenticationRequired: self = NetworkFailure.refusal(status: 407, of: proxy)
    case .invalidProxyResponse: self = NetworkFailure.proxyRefuses.error()
    case .httpProxyHandshakeTimeout, .socksHandshakeTimeout: self = NetworkFailure.proxySilent.error()
    case .cancelled, .requestStreamCancelled: self = .cancelled
    case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout:
      self = .notConnected("connecting timed out")
    case .deadlineExceeded, .readTimeout, .writeTimeout: self = .timedOut
    case .invalidURL, .emptyHost, .emptyScheme, .missingSocketPath: self = .invalidRequest("not a valid URL")
    case .alreadyShutdown: self = .notConnected("the transport has been shut down")
    case .remoteConnectionClosed: self = .connectionLost("the connection broke")
    default:
      // Cases with a payload, which may contain parts of the request.
      switch error.shortDescription {
      case let text where text.contains("header"):
        self = .invalidRequest("invalid character in a header field")
      case let text where text.contains("scheme"): self = .invalidRequest("not a valid URL")
      case let text: self = .connectionLost(text)
      }
    }
  }
}

extension IOError {
  /// The reason in lower case, such as `connection refused`.
  fileprivate var cause: String {
    String(cString: strerror(errnoCode)).lowercased()
  }
}
#endif
