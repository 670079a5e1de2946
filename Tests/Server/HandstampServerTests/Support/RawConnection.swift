#if Programs
import Dispatch
import Foundation
import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A bare TCP connection, for requests that no HTTP library would send.
enum RawConnection {
  struct Failed: Error { var errno: Int32 }

  /// Sends `text`, closes the sending side unless it is to be kept open, and returns everything received until the peer
  /// closes the connection.
  static func exchange(_ text: String, with base: String, keepingOpen: Bool = false) async throws -> String {
    guard let port = UInt16(base.split(separator: ":").last ?? "") else { throw Failed(errno: EINVAL) }
    return try await withCheckedThrowingContinuation { continuation in
      // Blocking calls, on a thread where they are allowed.
      DispatchQueue.global().async {
        continuation.resume(with: Result { try talk(Array(text.utf8), port, keepingOpen) })
      }
    }
  }

  private static func talk(_ bytes: [UInt8], _ port: UInt16, _ isKeptOpen: Bool) throws -> String {
    #if canImport(Glibc)
    let stream = Int32(SOCK_STREAM.rawValue)
    #else
    let stream = SOCK_STREAM
    #endif
    let connection = socket(AF_INET, stream, 0)
    guard connection >= 0 else { throw Failed(errno: errno) }
    defer { close(connection) }
    var limit = timeval(tv_sec: 240, tv_usec: 0)
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let connected = try SocketAddress(ipAddress: "127.0.0.1", port: Int(port)).withSockAddr {
      connect(connection, $0, socklen_t($1))
    }
    guard connected == 0 else { throw Failed(errno: errno) }
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      // The peer may have closed the connection already.
      guard count > 0 else { break }
      sent += count
    }
    if !isKeptOpen { shutdown(connection, Int32(SHUT_WR)) }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(connection, &buffer, buffer.count, 0)
      if count < 0, errno != ECONNRESET { throw Failed(errno: errno) }
      guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
      answer += buffer.prefix(count)
    }
  }
}
#endif
