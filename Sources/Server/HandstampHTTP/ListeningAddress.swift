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
#endif
