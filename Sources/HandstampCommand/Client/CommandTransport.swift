#if Command
import HandstampCore
import HandstampTransports

#if !AsyncHTTPClient
import Handstamp
import HandstampSupport
#endif

/// The transport of the program's requests: AsyncHTTPClient, or URLSession where the package is built without it.
enum CommandTransport {
  /// With the network of the environment, for requests of no account.
  static let shared = make()

  /// - Parameter certificateAuthorities: a file in PEM with the authorities to trust; `nil` is that of `SSL_CERT_FILE`, or the
  ///   system's.
  static func make(certificateAuthorities: String? = nil) -> any Transport {
    #if AsyncHTTPClient
    // The transport reports an invalid environment, with each request.
    guard let certificateAuthorities, var network = try? NetworkSettings.environment() else {
      return make(network: nil)
    }
    network.certificateAuthorities = certificateAuthorities
    return make(network: network)
    #else
    return make(network: certificateAuthorities.map { NetworkSettings(certificateAuthorities: $0) })
    #endif
  }

  /// - Parameter network: `nil` is that of the environment.
  static func make(network: NetworkSettings?) -> any Transport {
    #if AsyncHTTPClient
    return AsyncHTTPTransport(network: network)
    #else
    guard network == nil || network?.proxies == ProxyRules.none && network?.clientCertificate == nil else {
      return WithoutNetwork()
    }
    // The one way to tell Foundation, outside of Apple's systems, where libcurl also reads the environment's proxies.
    if let file = network?.certificateAuthorities ?? ProcessEnvironment["SSL_CERT_FILE"] {
      setenv("URLSessionCertificateAuthorityInfoFile", file, 1)
    }
    return URLSessionTransport()
    #endif
  }

  /// Sends every request over the Unix domain socket at this path, whatever host it names. `nil` where URLSession is used, which cannot.
  static func make(socket path: String) -> (any Transport)? {
    #if AsyncHTTPClient
    return AsyncHTTPTransport(unixSocket: path)
    #else
    return nil
    #endif
  }
}

#if !AsyncHTTPClient
/// Refuses all requests: URLSession can be told of no proxy and no certificate that are an account's own.
private struct WithoutNetwork: Transport {
  private var refusal: TransportError {
    NetworkFailure.invalidSettings.error("this program is built without AsyncHTTPClient, which they need")
  }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse { throw refusal }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream { throw refusal }
}
#endif
#endif
