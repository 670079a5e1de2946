#if Programs
import Foundation
import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A socket that a service manager would keep open across restarts of the server.
final class ListeningSocket: Sendable {
  let descriptor: Int32
  let port: Int

  init() throws {
    #if canImport(Glibc)
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
    descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    let isBound = try SocketAddress(ipAddress: "127.0.0.1", port: 0).withSockAddr { [descriptor] address, size in
      bind(descriptor, address, socklen_t(size)) == 0 && listen(descriptor, 1024) == 0
    }
    var (address, size) = (sockaddr(), socklen_t(MemoryLayout<sockaddr>.size))
    guard isBound, getsockname(descriptor, &address, &size) == 0 else { throw RawSocket.Failed(errno: errno) }
    // The first field after the family (ip(7)), in network byte order.
    port = withUnsafeBytes(of: address.sa_data) { Int($0[0]) << 8 | Int($0[1]) }
  }

  /// Returns another descriptor of the socket, for a server, which closes it.
  func copy() -> Int32 { dup(descriptor) }

  deinit { close(descriptor) }
}

/// The socket of a service manager that receives the states of a service.
final class NotificationSocket: Sendable {
  private let descriptor: Int32

  /// - Parameter name: a path, or `@` and the name of an abstract socket.
  init(_ name: String) throws {
    #if canImport(Glibc)
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    #else
    descriptor = socket(AF_UNIX, SOCK_DGRAM, 0)
    #endif
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    if name.hasPrefix("@") { bytes[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let size = MemoryLayout<sockaddr_un>.size - MemoryLayout.size(ofValue: address.sun_path) + bytes.count
    let bound = withUnsafePointer(to: &address) { [descriptor] in
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(size)) }
    }
    guard bound == 0 else { throw RawSocket.Failed(errno: errno) }
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// Returns the next message, or `nil` if none arrives within 20 s.
  func next() async -> String? {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { [descriptor] in
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        continuation.resume(returning: count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil)
      }
    }
  }
}
#endif
