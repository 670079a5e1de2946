#if Programs
import Foundation
import HandstampSupport

/// A port of loopback that no program listens on for now. It is below those that the system hands out, so that no socket of another
/// test gets it before it is used.
enum FreePort {
  static func find() throws -> Int {
    for _ in 0..<1000 {
      let port = UInt16.random(in: 10_000..<32_768)
      let connection = socket(AF_INET, PlainClient.stream, 0)
      defer { close(connection) }
      var address = PlainClient.loopback(port)
      let isBound = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      if isBound { return Int(port) }
    }
    throw PlainClient.Failed(errno: EADDRINUSE)
  }
}

/// Calls that block, on a thread where they are allowed.
enum Blocking {
  static func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: work()) }
    }
  }
}

/// A client without a library that would send a request again.
struct PlainClient {
  let port: UInt16
  /// The next request; `false` when there are enough.
  let next: @Sendable () -> Bool

  struct Failed: Error { var errno: Int32 }

  #if canImport(Glibc)
  static let stream = Int32(SOCK_STREAM.rawValue)
  #else
  static let stream = SOCK_STREAM
  #endif

  static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return address
  }

  /// Sends requests, as many on each connection as the server allows. Returns what went wrong.
  func run() -> [String] {
    var failures: [String] = []
    var isDone = false
    while !isDone, failures.count < 10 {
      let connection = socket(AF_INET, PlainClient.stream, 0)
      defer { close(connection) }
      var limit = timeval(tv_sec: 240, tv_usec: 0)
      setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      var address = PlainClient.loopback(port)
      let isConnected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      guard isConnected else {
        failures.append("not connected: \(errno)")
        continue
      }
      while true {
        guard next() else {
          isDone = true
          break
        }
        guard let answer = PlainClient.ask(connection) else {
          failures.append("no answer: \(errno)")
          break
        }
        if answer.lowercased().contains("connection: close") { break }
      }
    }
    return failures
  }

  /// Returns the answer to `GET /health`, or `nil` if the connection ends before.
  static func ask(_ connection: Int32) -> String? {
    let request = Array("GET /health HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    guard send(connection, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { return nil }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      answer += buffer.prefix(count)
      let text = String(decoding: answer, as: UTF8.self)
      if text.hasSuffix(#"{"status":"ok"}"#) { return text }
    }
  }
}
#endif
