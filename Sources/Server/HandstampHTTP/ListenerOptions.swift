#if HTTP

/// How the server listens, and what it takes from slow and hostile clients. For the server's own listener
/// (``SessionServer/run(host:port:stoppingOnSignals:onReady:)``, `handstamp-server serve`): an app with the server's routes in its own
/// router configures its own.
public struct ListenerOptions: Sendable {
  /// The certificate, for HTTPS with HTTP/1.1 and HTTP/2; needs the trait `AsyncHTTPClient`. `nil` (the default) serves plain HTTP/1.1.
  public var tls: TLSFiles?
  /// Whether plain HTTP is served beyond loopback although ``ServerConfiguration/trustedProxies`` names no proxy that
  /// terminates TLS. Default `false`: passwords and tokens would cross the network in clear.
  public var allowsCleartext = false
  /// Time from the first byte of a request to the end of its header fields. Default 10 s; then 408.
  public var headLimit = Duration.seconds(10) { didSet { headLimit = max(.milliseconds(1), headLimit) } }
  /// Time that the body of a request may take in any case. Default 30 s; see ``bodyRate``. Then 408.
  public var bodyLimit = Duration.seconds(30) { didSet { bodyLimit = max(.milliseconds(1), bodyLimit) } }
  /// Bytes per second at which a body must arrive: ``bodyLimit`` grows by a second for each of these. At least 1. Default 1024.
  public var bodyRate = 1024 { didSet { bodyRate = max(1, bodyRate) } }
  /// How long a client may accept nothing of a response. Default 30 s; then the connection is closed.
  public var writeLimit = Duration.seconds(30) { didSet { writeLimit = max(.milliseconds(1), writeLimit) } }
  /// Maximum number of connections, at least 1; never more than the process's limit of open files, less 96 for the store, logs and
  /// mails. `nil` (the default) takes that limit, and at most 32768. Beyond it the connection that has been idle for longest is
  /// closed; if none is idle, the new one is.
  public var connections: Int?
  /// Maximum number of connections of one address (IPv6: of one /64), at least 1. `nil` (the default) is an eighth of all, at least
  /// 16. Addresses in ``ServerConfiguration/trustedProxies`` and Unix sockets are not counted.
  public var connectionsPerAddress: Int?
  /// How long an idle connection may still send one request when the server shuts down. `nil` (the default) is 1 s with
  /// inherited sockets, so that no client notices the restart, and else 0.
  public var idleGrace: Duration?

  // Set for each listener by its user: the server, the page of its metrics, the gate, the agent.
  /// Time without a request after which a connection is closed.
  package var idleLimit = Duration.seconds(120)
  /// Maximum size of a body, in bytes. Reading a larger one throws.
  package var bodySize = 64 * 1024
  /// Maximum size of the request line and the header fields, in bytes; then 431.
  package var headSize = 16 * 1024
  /// Maximum number of header fields; then 431.
  package var headFields = 100
  /// Their connections are not counted by address. Asked for each connection.
  package var proxies: @Sendable () -> TrustedProxies = { .none }
  /// The header fields of responses that the listener gives by itself.
  package var fields = ResponseFields()

  public init() {}

  /// How long a connection stays open after its last response, so that the client receives that (RFC 9112 section 9.6). The rest of
  /// a request that was answered early is received for ``bodyLimit`` at most.
  static let lingerLimit = Duration.seconds(1)
  /// How long accepting pauses after a failure, such as a lack of descriptors: other clients wait as long.
  static let acceptPause = Duration.milliseconds(20)
  /// Maximum number of requests at once on one connection of HTTP/2.
  static let concurrentStreams = 100
  /// Descriptors that the store, logs and mails need, which are no connections.
  private static let reservedDescriptors = 96
  /// The largest number of connections that the server takes without being told to.
  private static let mostConnections = 32_768

  /// Returns the limits of a process that may open `descriptors` files.
  func connectionLimits(descriptors: Int) -> (all: Int, perAddress: Int) {
    let room = max(16, descriptors - ListenerOptions.reservedDescriptors)
    let all = max(1, min(room, connections ?? ListenerOptions.mostConnections))
    return (all, min(all, max(1, connectionsPerAddress ?? max(16, all / 8))))
  }

  /// Returns how many connections may be accepted before the first of them is counted: they leave the reserve alone.
  static func acceptsAtOnce(of limit: Int, descriptors: Int) -> UInt {
    UInt(min(max(4, descriptors - limit - reservedDescriptors), 256))
  }
}

/// A number of a listener: of connections, and of what went wrong with them and with certificates.
package enum ListenerCount: Sendable {
  case connections, openConnections, closedIdleConnections, refusedConnections, acceptFailures
  case slowRequests, idleFrames, slowReaders
  case certificatesLoaded, certificatesRefused

  /// Adds to a number; a negative one for a connection that is closed.
  package typealias Add = @Sendable (ListenerCount, Int) -> Void
}
#endif
