#if Command
import HandstampCore

#if AsyncHTTPClient
import HandstampTransports
#else
import Handstamp
import HandstampSupport
#endif

/// What the program sends its requests with: AsyncHTTPClient, or URLSession where the package is built without it.
enum CommandTransport {
  static let shared = make()

  /// - Parameter certificateAuthorities: a file in PEM with the authorities to trust; `nil` is that of `SSL_CERT_FILE`, or the
  ///   system's.
  static func make(certificateAuthorities: String? = nil) -> any Transport {
    #if AsyncHTTPClient
    return AsyncHTTPTransport(certificateAuthorities: certificateAuthorities)
    #else
    // The one way to tell Foundation, outside of Apple's systems.
    if let file = certificateAuthorities ?? ProcessEnvironment["SSL_CERT_FILE"] {
      setenv("URLSessionCertificateAuthorityInfoFile", file, 1)
    }
    return URLSessionTransport()
    #endif
  }
}
#endif
