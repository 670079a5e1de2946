#if Command
import HandstampCore
import HandstampTransports

#if !AsyncHTTPClient
import Handstamp
#endif

/// The transport of the program's requests: AsyncHTTPClient; where the package is built without it, libcurl on Linux, and URLSession.
enum CommandTransport {
  /// With the network of the environment, for requests of no account.
  static let shared = make()

  /// - Parameter certificateAuthorities: a file in PEM with the authorities to trust; `nil` is that of `SSL_CERT_FILE`, or the
  ///   system's.
  static func make(certificateAuthorities: String? = nil) -> any Transport {
    // The transport reports an invalid environment, with each request.
    guard let certificateAuthorities, var network = try? NetworkSettings.environment() else {
      return make(network: nil)
    }
    network.certificateAuthorities = certificateAuthorities
    return make(network: network)
  }

  /// - Parameter network: `nil` is that of the environment.
  static func make(network: NetworkSettings?) -> any Transport {
    #if AsyncHTTPClient
    return AsyncHTTPTransport(network: network)
    #else
    #if os(Linux)
    if let transport = CurlTransport(network: network) { return transport }
    #endif
    guard network == nil || network == NetworkSettings() else {
      return RefusingTransport(
        NetworkFailure.invalidSettings.error("this program is built without AsyncHTTPClient, which they need"))
    }
    return URLSessionTransport()
    #endif
  }

  /// Sends every request over the Unix domain socket at this path, whatever host it names. `nil` without AsyncHTTPClient.
  static func make(socket path: String) -> (any Transport)? {
    #if AsyncHTTPClient
    return AsyncHTTPTransport(unixSocket: path)
    #else
    return nil
    #endif
  }
}
#endif
