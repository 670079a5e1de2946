#if Programs
import Dispatch
import Foundation
import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A bare connection, step by step.
final class RawSocket: Sendable {
  struct Failed: Error { var errno: Int32 }

  /// How a connection ended.
  enum End: Sendable, Equatable { case closed, reset, open }

  private let descriptor: Int32
  private let queue = DispatchQueue(label: "raw socket")

  #if canImport(Glibc)
  private static let stream = Int32(SOCK_STREAM.rawValue)
  #else
  private static let stream = SOCK_STREAM
  #endif

  /// - Parameters:
  ///   - source: the loopback address to connect from.
  ///   - receiveBuffer: its size in bytes; `nil` is the system's.
  init(_ base: String, from source: String? = nil, receiveBuffer: Int32? = nil) throws {
    descriptor = socket(AF_INET, RawSocket.stream, 0)
    guard descriptor >= 0, let port = UInt16(base.split(separator: ":").last ?? "") else { throw Failed(errno: errno) }
    if var receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
    }
    if let source {
      let bound = try SocketAddress(ipAddress: source, port: 0).withSockAddr { [descriptor] in
        bind(descriptor, $0, socklen_t($1))
      }
      guard bound == 0 else { throw Failed(errno: errno) }
    }
    let connected = try SocketAddress(ipAddress: "127.0.0.1", port: Int(port)).withSockAddr { [descriptor] in
      connect(descriptor, $0, socklen_t($1))
    }
    guard connected == 0 else { throw Failed(errno: errno) }
  }

  /// Connects to a Unix domain socket.
  init(path: String) throws {
    descriptor = socket(AF_UNIX, RawSocket.stream, 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard connected == 0 else { throw Failed(errno: errno) }
  }

  deinit { close(descriptor) }

  /// Sends what the system accepts. Data for a peer that has closed are lost, as on any network.
  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        #if canImport(Glibc)
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        #else
        Darwin.send(descriptor, $0.baseAddress, $0.count, 0)
        #endif
      }
      guard count > 0 else { return }
      sent += count
    }
  }

  /// Sends `bytes` one by one, each after `interval` without an answer, until there is an answer or none is left.
  func drip(_ bytes: [UInt8], every interval: Duration) async {
    await onQueue { [self] in
      for byte in bytes {
        guard !isReadable(within: interval) else { return }
        send([byte])
      }
    }
  }

  /// Returns what arrives until the text contains `mark`, the peer closes, or four minutes have passed.
  func receive(until mark: String? = nil) async -> (text: String, end: End) {
    await onQueue { [self] in
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        if let mark, String(decoding: bytes, as: UTF8.self).contains(mark) { break }
        guard isReadable(within: .seconds(240)) else { break }
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return (String(decoding: bytes, as: UTF8.self), count == 0 ? .closed : .reset) }
        bytes += buffer.prefix(count)
      }
      return (String(decoding: bytes, as: UTF8.self), .open)
    }
  }

  /// Returns whether nothing arrives for a while, not even the end of the connection.
  func isSilent(for time: Duration) async -> Bool { await onQueue { [self] in !isReadable(within: time) } }

  /// Returns whether data or the end of the connection are there.
  var isReadable: Bool { isReadable(within: .zero) }

  private func isReadable(within time: Duration) -> Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    let (seconds, attoseconds) = time.components
    #if canImport(Glibc)
    return Glibc.poll(&poll, 1, Int32(seconds * 1000 + attoseconds / 1_000_000_000_000_000)) > 0
    #else
    return Darwin.poll(&poll, 1, Int32(seconds * 1000 + attoseconds / 1_000_000_000_000_000)) > 0
    #endif
  }

  /// Closes the sending side.
  func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Blocking calls, on a thread where they are allowed.
  private func onQueue<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: work()) } }
  }
}
#endif
