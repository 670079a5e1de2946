#if Programs
import HandstampCore
import HandstampTransports

/// The transports that take a `NetworkSettings`: the program's, and that of a build without AsyncHTTPClient.
enum NetworkTransport: CaseIterable, Sendable {
  case asyncHTTPClient
  #if os(Linux)
  case libcurl
  #endif

  func make(
    _ settings: NetworkSettings? = NetworkSettings(), connectTimeout: Duration = .seconds(10)
  ) -> any Transport {
    switch self {
    case .asyncHTTPClient: return AsyncHTTPTransport(connectTimeout: connectTimeout, network: settings)
    #if os(Linux)
    case .libcurl:
      return CurlTransport(network: settings) ?? RefusingTransport(.notConnected("there is no libcurl"))
    #endif
    }
  }
}
#endif
