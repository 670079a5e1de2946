#if HTTP
import HandstampSupport

/// Where a server accepts connections.
public enum ListeningAddress: Sendable, Hashable, CustomStringConvertible {
  /// An IP address or a name, and a port; port 0 is any free one.
  case host(String, port: Int)
  /// The path of a Unix domain socket, which is created. One that a previous process left is replaced.
  case unixSocket(String)
  /// An open descriptor of a listening socket, which another process keeps open too: it receives connections while no server
  /// runs, and the next server accepts them. See ``inherited(by:environment:)``.
  case descriptor(Int32)

  public var description: String {
    switch self {
    case .host(let host, let port): host.contains(":") && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unixSocket(let path): path
    case .descriptor(let descriptor): "inherited socket \(descriptor)"
    }
  }

  /// Returns the sockets that the process was started with (`LISTEN_FDS` and `LISTEN_PID`, sd_listen_fds(3)), which systemd
  /// passes to a service with a socket unit; none if the variables are missing or meant for another process.
  public static func inherited(by process: Int32, environment: [String: String]) -> [ListeningAddress] {
    guard environment["LISTEN_PID"].flatMap({ Int32($0) }) == process,
      let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), (1...1024).contains(count)
    else { return [] }
    return (firstDescriptor..<firstDescriptor + count).map { .descriptor($0) }
  }

  /// SD_LISTEN_FDS_START.
  private static let firstDescriptor: Int32 = 3

  /// Whether only programs of this machine can connect.
  package var isLocal: Bool {
    switch self {
    case .host(let host, _): Loopback.contains(host: host)
    case .unixSocket: true
    case .descriptor(let descriptor): BoundSocket(descriptor)?.isLocal ?? false
    }
  }

  /// The name that clients of this machine use.
  package var host: String {
    if case .host(let host, _) = self { host } else { "localhost" }
  }

  /// Whether another process keeps the socket open while this one restarts.
  var isInherited: Bool {
    if case .descriptor = self { true } else { false }
  }
}

/// A socket that another process has bound.
struct BoundSocket {
  let isLocal: Bool

  /// Returns `nil` unless the descriptor is a listening stream socket.
  init?(_ descriptor: Int32) {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0, value != 0 else { return nil }
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let family = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(descriptor, $0, &length) == 0 ? Int32($0.pointee.sa_family) : -1
      }
    }
    switch family {
    case AF_UNIX: isLocal = true
    case AF_INET:
      isLocal = withUnsafeBytes(of: &storage) { bytes in
        bytes.load(as: sockaddr_in.self).sin_addr.s_addr & UInt32(0xFF).littleEndian == 127
      }
    case AF_INET6:
      isLocal = withUnsafeBytes(of: &storage) { bytes in
        withUnsafeBytes(of: bytes.load(as: sockaddr_in6.self).sin6_addr) {
          $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1
        }
      }
    default: return nil
    }
  }

  /// Keeps the socket from the programs that this one starts.
  static func protect(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
}

/// A reason why a server does not listen.
public enum ListenError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Passwords and tokens would cross a network unencrypted.
  case cleartext(ListeningAddress)
  /// The system refused the address.
  case address(ListeningAddress, cause: String)
  /// The descriptor is not a listening socket.
  case notListening(ListeningAddress)
  /// The file of a certificate, or of its key, cannot be read.
  case unreadable(String, cause: String)
  /// The file has no certificate in PEM.
  case certificate(String)
  /// The file has no private key in PEM.
  case key(String)
  /// The key is not the certificate's.
  case mismatch(certificate: String, key: String)
  /// The package was built without the trait `AsyncHTTPClient`, which brings TLS.
  case missingTrait

  public var description: String {
    switch self {
    case .cleartext(let address): "listening on \(address) would send passwords and tokens unencrypted"
    case .address(let address, let cause): "cannot listen on \(address): \(cause)"
    case .notListening(let address): "the \(address) is not a listening socket"
    case .unreadable(let path, let cause): "cannot read \(path): \(cause)"
    case .certificate(let path): "\(path) has no certificate in PEM"
    case .key(let path): "\(path) has no private key in PEM"
    case .mismatch(let certificate, let key): "the key in \(key) does not belong to the certificate in \(certificate)"
    case .missingTrait: BuildPart.https.refusal
    }
  }

  /// The advice for the operator.
  public var hint: String {
    switch self {
    case .cleartext:
      "give a certificate and its key, or name the addresses of the proxy in front that terminates TLS"
    case .address: "choose another address or port; port 0 picks a free one"
    case .notListening: "pass sockets on which listen() was called, as systemd does for a unit with ListenStream="
    case .unreadable: "name a file that the server's user may read"
    case .certificate: "name the chain, such as fullchain.pem, which begins with -----BEGIN CERTIFICATE-----"
    case .key: "name the key without a passphrase, such as privkey.pem"
    case .mismatch: "name a certificate and a key that were issued together"
    case .missingTrait: "add the package's trait AsyncHTTPClient, or let a proxy in front terminate TLS"
    }
  }
}
#endif
