#if Programs
import Foundation
import HandstampSupport

@testable import HandstampCommand

/// A small service manager: holds the listening socket, starts servers on it, and hears their states.
final class ServiceManager: Sendable {
  let port: UInt16
  private let listening: Int32
  private let notified: Int32
  private let folder: String

  struct Failed: Error { var errno: Int32 }

  #if canImport(Glibc)
  static let stream = Int32(SOCK_STREAM.rawValue)
  private static let datagram = Int32(SOCK_DGRAM.rawValue)
  #else
  static let stream = SOCK_STREAM
  private static let datagram = SOCK_DGRAM
  #endif

  init(folder: String) throws {
    self.folder = folder
    let listening = socket(AF_INET, ServiceManager.stream, 0)
    var address = ServiceManager.loopback(0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listening, $0, size) == 0 && listen(listening, 1024) == 0 && getsockname(listening, $0, &size) == 0
      }
    }
    guard isBound else { throw Failed(errno: errno) }
    port = UInt16(bigEndian: address.sin_port)
    self.listening = listening
    notified = socket(AF_UNIX, ServiceManager.datagram, 0)
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: "\(folder)/notify".utf8) }
    let isNamed = withUnsafePointer(to: &name) { [notified] in
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(notified, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isNamed else { throw Failed(errno: errno) }
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(notified, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit {
    close(listening)
    close(notified)
  }

  static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return address
  }

  /// Starts a server on the socket, as systemd does: the socket is descriptor 3.
  func start() throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", #"exec 3<&0 0</dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@""#, try Child.program(), "serve",
      "--data", folder + "/data", "--issuer", "http://127.0.0.1", "--log-level", "warning",
    ]
    process.environment = ["NOTIFY_SOCKET": folder + "/notify", "PATH": "/usr/bin:/bin"]
    process.standardInput = FileHandle(fileDescriptor: listening, closeOnDealloc: false)
    process.standardOutput = FileHandle.nullDevice
    try Child.withoutBlockedSignals { try process.run() }
    return process
  }

  /// Returns the next state that a server tells, or `nil` if none does.
  func nextState() async -> String? {
    await Blocking.run { [notified] in
      var buffer = [UInt8](repeating: 0, count: 256)
      let count = recv(notified, &buffer, buffer.count, 0)
      return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
    }
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

  /// Sends requests, as many on each connection as the server allows. Returns what went wrong.
  func run() -> [String] {
    var failures: [String] = []
    var isDone = false
    while !isDone, failures.count < 10 {
      let connection = socket(AF_INET, ServiceManager.stream, 0)
      defer { close(connection) }
      var limit = timeval(tv_sec: 30, tv_usec: 0)
      setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      var address = ServiceManager.loopback(port)
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
