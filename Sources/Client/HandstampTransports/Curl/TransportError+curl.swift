#if os(Linux)
import HandstampCore
import HandstampSupport

/// How libcurl failed.
struct CurlFailure: Sendable, Hashable {
  /// A CURLcode.
  var code: Int32
  /// Whether a connection was there, so that the server may have received the request.
  var isSent: Bool
  /// The `errno` of the connection.
  var errorNumber: Int32 = 0
  /// The proxy's response to `CONNECT`; 0 for none.
  var connectStatus = 0
  /// libcurl's own words. They may contain names of hosts, and are only read.
  var words = ""
  /// The proxy that the connection was made through.
  var proxy: ProxyServer?
  /// The file with the authorities that are trusted instead of the system's.
  var authorities: String?

  fileprivate func says(_ texts: String...) -> Bool { texts.contains { words.lowercased().contains($0) } }

  /// Whether the server refused the client's certificate, or its absence, by an alert (RFC 8446 section 6.2).
  fileprivate var isOfClientCertificate: Bool {
    says(
      "certificate required", "alert bad certificate", "alert unknown ca", "alert certificate unknown",
      "handshake failure")
  }
}

extension TransportError {
  /// Describes the failure without addresses. The numbers are those of libcurl's stable interface (curl/curl.h).
  init(_ failure: CurlFailure) {
    let proxy = failure.proxy
    func unreachable(_ reason: String) -> TransportError {
      proxy == nil ? .notConnected(reason) : NetworkFailure.proxyUnreachable.error(reason)
    }
    if failure.connectStatus >= 300 {
      self = NetworkFailure.refusal(status: failure.connectStatus, of: proxy)
      return
    }
    self =
      switch failure.code {
      // CURLE_UNSUPPORTED_PROTOCOL, also for what is no HTTP; CURLE_URL_MALFORMAT
      case 1, 3: failure.isSent ? .connectionLost("the response is no HTTP") : .invalidRequest("not a valid URL")
      // CURLE_COULDNT_RESOLVE_PROXY, …_HOST, CURLE_COULDNT_CONNECT
      case 5, 6: unreachable("the host cannot be found")
      case 7:
        unreachable(
          failure.errorNumber == 0 ? "no connection" : String(cString: strerror(failure.errorNumber)).lowercased())
      // CURLE_OPERATION_TIMEDOUT: libcurl's own limit is that of connecting.
      case 28: proxy == nil ? .notConnected("connecting timed out") : NetworkFailure.proxySilent.error()
      // CURLE_SSL_CONNECT_ERROR
      case 35 where failure.isOfClientCertificate: NetworkFailure.wantsCertificate.error()
      case 35: .notConnected("TLS failed: the server does not speak it, or no version of it that is known here")
      // CURLE_PEER_FAILED_VERIFICATION, under its previous number too
      case 51, 60:
        if failure.says("subject name", "does not match") {
          NetworkFailure.certificateOfAnotherHost.error()
        } else if failure.says("expired", "expiration date", "not yet valid") {
          NetworkFailure.certificateExpired.error()
        } else {
          (proxy == nil ? NetworkFailure.certificateUntrusted : .intercepted).error()
        }
      // CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE, CURLE_PROXY
      case 58: NetworkFailure.certificateUnreadable.error()
      case 77: NetworkFailure.authoritiesUnreadable.error(failure.authorities)
      case 97 where failure.says("authentication"): NetworkFailure.socksWantsCredentials.error()
      case 97: NetworkFailure.proxyRefuses.error()
      // CURLE_BAD_CONTENT_ENCODING
      case 61: .connectionLost("the response cannot be decompressed")
      case _ where failure.isOfClientCertificate: NetworkFailure.wantsCertificate.error()
      case _ where !failure.isSent:
        proxy == nil
          ? .notConnected("the connection broke before the request was sent") : NetworkFailure.proxyLost.error()
      // CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR
      case 18, 52, 55, 56: .connectionLost("the connection broke")
      case let code: .connectionLost("libcurl error \(code)")
      }
  }
}
#endif
