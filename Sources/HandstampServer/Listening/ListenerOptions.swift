#if Server
/// How the server listens, and what it takes from slow and hostile clients. For the server's own listener
/// (``SessionServer/run(host:port:stoppingOnSignals:onReady:)``, `handstamp serve`): an app with the server's routes in its own
/// router configures its own.
public struct ListenerOptions: Sendable {
  /// The certificate, for HTTPS with HTTP/1.1 and HTTP/2; needs the trait `TLS`. `nil` (the default) serves plain HTTP/1.1.
  public var tls: TLSFiles?
  /// Whether plain HTTP is served beyond loopback although ``ServerConfiguration/trustedProxies`` names no proxy that
  /// terminates TLS. Default `false`: passwords and tokens would cross the network in clear.
  public var allowsCleartext: Bool
  /// Time from the first byte of a request to the end of its header fields. Default 10 s; then 408.
  public var headLimit: Duration
  /// Time that the body of a request may take in any case. Default 30 s; see ``bodyRate``. Then 408.
  public var bodyLimit: Duration
  /// Bytes per second at which a body must arrive: ``bodyLimit`` grows by a second for each of these. At least 1. Default 1024.
  public var bodyRate: Int
  /// How long a client may accept nothing of an answer. Default 30 s; then the connection is closed.
  public var writeLimit: Duration
  /// How long a connection stays open after its last answer, so that the client receives that (RFC 9112 section 9.6). Default
  /// 1 s. The rest of a request that was answered early is received for ``bodyLimit`` at most.
  public var lingerLimit: Duration
  /// Maximum size of the request line and the header fields, in bytes. 1024 to 65536. Default 16384; then 431.
  public var headSize: Int
  /// Maximum number of header fields. 1 to 1000. Default 100; then 431.
  public var headFields: Int
  /// Maximum number of connections. `nil` (the default) takes the process's limit of open files, less ``reservedDescriptors``,
  /// and at most 32768. Beyond it the connection that has been idle for longest is closed; if none is idle, the new one is.
  public var connections: Int?
  /// Maximum number of connections of one address (IPv6: of one /64). `nil` (the default) is an eighth of all, at least 16.
  /// Addresses in ``ServerConfiguration/trustedProxies`` and Unix sockets are not counted.
  public var connectionsPerAddress: Int?
  /// Descriptors that the store, logs and mails need, which are no connections. Default 96.
  public var reservedDescriptors: Int
  /// Whether the process's soft limit of open files is raised to the hard limit. Default `true`.
  public var raisesDescriptorLimit: Bool
  /// How long accepting pauses after a failure, such as a lack of descriptors. Default 20 ms: other clients wait as long.
  public var acceptPause: Duration
  /// Maximum number of requests at once on one connection of HTTP/2. 1 to 1000. Default 100.
  public var concurrentStreams: Int
  /// How long an idle connection may still send one request when the server shuts down. `nil` (the default) is 1 s with
  /// inherited sockets, so that no client notices the restart, and else 0.
  public var idleGrace: Duration?

  public init(
    tls: TLSFiles? = nil,
    allowsCleartext: Bool = false,
    headLimit: Duration = .seconds(10),
    bodyLimit: Duration = .seconds(30),
    bodyRate: Int = 1024,
    writeLimit: Duration = .seconds(30),
    lingerLimit: Duration = .seconds(1),
    headSize: Int = 16 * 1024,
    headFields: Int = 100,
    connections: Int? = nil,
    connectionsPerAddress: Int? = nil,
    reservedDescriptors: Int = 96,
    raisesDescriptorLimit: Bool = true,
    acceptPause: Duration = .milliseconds(20),
    concurrentStreams: Int = 100,
    idleGrace: Duration? = nil
  ) {
    self.tls = tls
    self.allowsCleartext = allowsCleartext
    self.headLimit = max(.milliseconds(1), headLimit)
    self.bodyLimit = max(.milliseconds(1), bodyLimit)
    self.bodyRate = max(1, bodyRate)
    self.writeLimit = max(.milliseconds(1), writeLimit)
    self.lingerLimit = max(.zero, lingerLimit)
    self.headSize = min(max(1024, headSize), 65_536)
    self.headFields = min(max(1, headFields), 1000)
    self.connections = connections.map { max(1, $0) }
    self.connectionsPerAddress = connectionsPerAddress.map { max(1, $0) }
    self.reservedDescriptors = max(0, reservedDescriptors)
    self.raisesDescriptorLimit = raisesDescriptorLimit
    self.acceptPause = max(.milliseconds(1), acceptPause)
    self.concurrentStreams = min(max(1, concurrentStreams), 1000)
    self.idleGrace = idleGrace
  }

  /// The largest number of connections that the server takes without being told to.
  private static let mostConnections = 32_768

  /// Returns the limits of a process that may open `descriptors` files.
  func connectionLimits(descriptors: Int) -> (all: Int, perAddress: Int) {
    let all = connections ?? min(max(16, descriptors - reservedDescriptors), ListenerOptions.mostConnections)
    return (all, min(all, connectionsPerAddress ?? max(16, all / 8)))
  }
}
#endif
