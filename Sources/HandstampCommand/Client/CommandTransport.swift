#if Command
import HandstampCore

#if AsyncHTTPClient
import HandstampAsyncHTTP
#else
import Handstamp
#endif

/// What the program sends its requests with: AsyncHTTPClient, or URLSession where the package is built without it.
enum CommandTransport {
  static let shared = make()

  static func make() -> any Transport {
    #if AsyncHTTPClient
    AsyncHTTPTransport()
    #else
    URLSessionTransport()
    #endif
  }
}
#endif
