#if AsyncHTTPClient
import AsyncHTTPClient
import HandstampCore
import NIOCore
import NIOPosix

extension TransportError {
  /// What went wrong, in words without addresses and bodies.
  init(_ error: any Error) {
    switch error {
    case let error as TransportError: self = error
    case is CancellationError: self = .cancelled
    case let error as HTTPClientError: self.init(client: error)
    case let error as NIOConnectionError:
      let causes = error.connectionErrors.map { $0.error } + [error.dnsAError, error.dnsAAAAError].compactMap { $0 }
      self = .notConnected(causes.lazy.compactMap { ($0 as? IOError)?.cause }.first ?? "the host cannot be found")
    // This one comes of connecting alone.
    case let error as IOError where error.errnoCode == ECONNREFUSED: self = .notConnected(error.cause)
    case let error as IOError: self = .unreachable(error.cause)
    case is ChannelError: self = .unreachable("the connection broke")
    default: self = .unreachable(String(describing: type(of: error)))
    }
  }

  private init(client error: HTTPClientError) {
    switch error {
    case .cancelled, .requestStreamCancelled: self = .cancelled
    case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout:
      self = .notConnected("no connection in time")
    case .deadlineExceeded, .readTimeout, .writeTimeout: self = .timedOut
    case .invalidURL, .emptyHost, .emptyScheme, .missingSocketPath: self = .invalidRequest("the address is none")
    case .alreadyShutdown: self = .notConnected("the transport has been shut down")
    case .remoteConnectionClosed: self = .unreachable("the connection broke")
    default:
      // Cases with a payload, which may hold what was sent.
      switch error.shortDescription {
      case let text where text.contains("header"):
        self = .invalidRequest("a header field with characters that none may have")
      case let text where text.contains("scheme"): self = .invalidRequest("the address is none")
      case let text: self = .unreachable(text)
      }
    }
  }
}

extension IOError {
  /// `Connection refused`, and the like.
  fileprivate var cause: String {
    String(cString: strerror(errnoCode)).lowercased()
  }
}
#endif
