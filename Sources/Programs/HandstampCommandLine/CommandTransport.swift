#if Command
package import HandstampCore
import HandstampSupport
package import HandstampTransports

#if !AsyncHTTPClient
import Handstamp
#endif

/// The transport of the program's requests: AsyncHTTPClient; where the package is built without it, libcurl on Linux, and URLSession.
package enum CommandTransport {
  /// With the network of the environment, for requests of no account.
  package static let shared = make()

  /// - Parameter certificateAuthorities: a file in PEM with the authorities to trust; `nil` is that of `SSL_CERT_FILE`, or the
  ///   system's.
  package static func make(certificateAuthorities: String? = nil) -> any Transport {
    // The transport reports an invalid environment, with each request.
    guard let certificateAuthorities, var network = try? NetworkSettings.environment() else {
      return make(network: nil)
    }
    network.certificateAuthorities = certificateAuthorities
    return make(network: network)
  }

  /// - Parameter network: `nil` is that of the environment.
  package static func make(network: NetworkSettings?) -> any Transport {
    #if AsyncHTTPClient
    return AsyncHTTPTransport(network: network)
    #else
    #if os(Linux)
    if let transport = CurlTransport(network: network) { return transport }
    #endif
    // URLSession reads none of them: a request that ignored them would be a surprise.
    if let network = try? network ?? NetworkSettings.environment(), network == NetworkSettings() {
      return URLSessionTransport()
    }
    return RefusingTransport(NetworkFailure.notInBuild.error())
    #endif
  }

  /// Sends every request over the Unix domain socket at this path, whatever host it names.
  ///
  /// - Parameter place: The variable that names it, for the refusal of a build without ``BuildPart/agentClient``.
  package static func make(socket path: String, namedBy place: String) throws(CommandError) -> any Transport {
    #if AsyncHTTPClient
    if BuildPart.agentClient.isHere { return AsyncHTTPTransport(unixSocket: path) }
    #endif
    throw CommandError(.agentClient, at: place)
  }
}
#endif
