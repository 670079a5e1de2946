#if AsyncHTTPClient
import AsyncHTTPClient
import HandstampCore
import NIOCore
import NIOPosix
import NIOSSL

extension TransportError {
  /// Describes the failure without addresses and bodies.
  init(_ error: any Error) {
    switch error {
    case let error as TransportError: self = error
    case is CancellationError: self = .cancelled
    case let error as HTTPClientError: self.init(client: error)
    case let error as NIOConnectionError:
      let causes = error.connectionErrors.map { $0.error } + [error.dnsAError, error.dnsAAAAError].compactMap { $0 }
      if let fault = causes.lazy.compactMap({ $0 as? NIOSSLError }).first {
        self.init(tls: fault)
        return
      }
      self = .notConnected(causes.lazy.compactMap { ($0 as? IOError)?.cause }.first ?? "the host cannot be found")
    // ECONNREFUSED occurs only while connecting.
    case let error as IOError where error.errnoCode == ECONNREFUSED: self = .notConnected(error.cause)
    case let error as IOError: self = .connectionLost(error.cause)
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      self = .notConnected("the server's certificate is for another host")
    case let error as NIOSSLError: self.init(tls: error)
    case is ChannelError: self = .connectionLost("the connection broke")
    default: self = .connectionLost(String(describing: type(of: error)))
    }
  }

  /// No request is sent before the handshake. Its errors have codes and source lines of the library, but nothing of the request.
  private init(tls error: NIOSSLError) {
    switch error {
    case .handshakeFailed(let cause):
      let isUntrusted = "\(cause)".contains("CERTIFICATE_VERIFY_FAILED")
      self = .notConnected(
        isUntrusted
          ? "the server's certificate has expired, or is of no authority that is trusted here (SSL_CERT_FILE)"
          : "TLS failed: the server does not speak it, or no version of it that is known here")
    case .failedToLoadCertificate, .noSuchFilesystemObject:
      self = .notConnected("the file with the trusted authorities cannot be read")
    case .unableToValidateCertificate: self = .notConnected("the server's certificate is not valid")
    case .uncleanShutdown: self = .connectionLost("the connection broke")
    default: self = .connectionLost("TLS failed")
    }
  }

  private init(client error: HTTPClientError) {
    switch error {
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
