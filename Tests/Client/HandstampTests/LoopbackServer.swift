import Foundation
import HandstampCore
import HandstampSupport

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// An HTTP server on the loopback interface that writes the test's bytes as given. One thread per connection. It closes its
/// connections when it is released: on Linux Foundation goes on with an abandoned request, at half a core, while a server trickles.
final class LoopbackServer: Sendable {
  /// One request, answered by writing.
  struct Connection: Sendable {
    let path: String
    /// The header fields as they were sent.
    let head: String
    fileprivate let descriptor: Int32
    /// The beginning of the body, if it arrived with the head.
    fileprivate let rest: [UInt8]

    /// The value of a header field.
    func header(_ name: String) -> String? {
      head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
        .map { $0.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces) }
    }

    /// Reads the body, of the length that the head announces, or less if the peer disconnects.
    func body() -> [UInt8] {
      let length = header("Content-Length").flatMap { Int($0) } ?? 0
      if header("Expect") != nil { write("HTTP/1.1 100 Continue\r\n\r\n") }
      var body = rest
      var buffer = [UInt8](repeating: 0, count: 65536)
      while body.count < length {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { break }
        body += buffer[..<count]
      }
      return body
    }

    /// Writes a whole response, after which the connection is closed.
    func answer(_ status: Int, _ body: String = "{}", headers: String = "") {
      write(
        "HTTP/1.1 \(status) Status\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\(headers)\r\n\(body)")
    }

    /// False if the peer has disconnected.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }

    @discardableResult
    func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Returns when the peer has disconnected, or after `limit`.
    func hasGone(within limit: Duration) -> Bool {
      var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&poller, 1, Int32(limit / .milliseconds(1))) > 0 else { return false }
      var byte: UInt8 = 0
      return recv(descriptor, &byte, 1, 0) <= 0
    }
  }

  let url: String
  private let address: sockaddr_in
  private let isOver = Locked(false)

  init(_ handler: @escaping @Sendable (Connection) -> Void) throws {
    let descriptor = LoopbackServer.socket()
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && listen(descriptor, 128) == 0 && getsockname(descriptor, $0, &size) == 0
      }
    }
    guard isBound else { throw TransportError.connectionLost("no loopback") }
    self.address = address
    url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    let connections = Locked<Set<Int32>>([])
    Thread.detachNewThread { [isOver] in
      while case let client = accept(descriptor, nil, nil), client >= 0 {
        guard !isOver.withLock({ $0 }) else {
          close(client)
          break
        }
        connections.withLock { _ = $0.insert(client) }
        Thread.detachNewThread {
          LoopbackServer.serve(client, handler)
          connections.withLock {
            $0.remove(client)
            close(client)
          }
        }
      }
      connections.withLock { for client in $0 { shutdown(client, Int32(SHUT_RDWR)) } }
      // By the thread that accepts: closed elsewhere, its number might by now be another server's, whose clients it would answer.
      close(descriptor)
    }
  }

  deinit {
    isOver.withLock { $0 = true }
    // Wakes the thread that accepts.
    let last = LoopbackServer.socket()
    withUnsafePointer(to: address) {
      _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(last, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    close(last)
  }

  private static func socket() -> Int32 {
    #if canImport(Glibc)
    Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #elseif canImport(Musl)
    Musl.socket(AF_INET, SOCK_STREAM, 0)
    #else
    Darwin.socket(AF_INET, SOCK_STREAM, 0)
    #endif
  }

  private static func serve(_ descriptor: Int32, _ handler: (Connection) -> Void) {
    var head: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !String(decoding: head, as: UTF8.self).contains("\r\n\r\n") {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { return }
      head += buffer[..<count]
    }
    let end = head.indices.first { head[$0...].starts(with: Array("\r\n\r\n".utf8)) } ?? head.endIndex
    let text = String(decoding: head[..<end], as: UTF8.self)
    let words = text.split(separator: " ")
    handler(
      Connection(
        path: words.count > 1 ? String(words[1]) : "", head: text, descriptor: descriptor,
        rest: Array(head[end...].dropFirst(4))))
  }
}
