#if Programs && os(Linux)
import Foundation
import HandstampSupport

/// The server of a storm, as operators run it, on the first core alone.
final class StormServer {
  /// At an address of its own, so that it is the same after a restart.
  static let metricsPort: UInt16 = 9464
  private let program: String
  private let arguments: [String]
  private let log: FileHandle
  private var process = Process()
  private(set) var port: UInt16 = 0
  /// Of the processes that were killed.
  private var spent = 0.0
  private var peaks: [Double] = []

  init(_ program: String, in folder: String, _ more: [String]) throws {
    self.program = program
    arguments =
      ["serve", "--data", folder, "--issuer", "http://127.0.0.1", "--trusted-proxies", "127.0.0.0/8"]
      + ["--metrics-address", "127.0.0.10:\(StormServer.metricsPort)"] + more
    let path = folder + ".log"
    guard FileManager.default.createFile(atPath: path, contents: nil), let log = FileHandle(forWritingAtPath: path)
    else { throw BenchError("no log") }
    self.log = log
  }

  /// Starts it, and waits until it listens: again at the same port.
  func start() throws {
    process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
    process.arguments = ["-c", "0", program] + arguments + ["--port", "\(port)"]
    let output = Pipe()
    (process.standardOutput, process.standardError, process.standardInput) = (output, log, FileHandle.nullDevice)
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let port = line.split(separator: "\n").first?.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      throw BenchError("the server did not start: \(line)")
    }
    self.port = port
  }

  func kill(_ signal: Int32 = SIGKILL) {
    (spent, peaks) = (seconds, peaks + [memory("VmHWM")])
    // Zero would be every process of the group.
    guard process.processIdentifier > 0 else { return }
    Glibc.kill(process.processIdentifier, signal)
    process.waitUntilExit()
  }

  /// The processor time that it has taken.
  var seconds: Double {
    let text = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
    let fields = text?.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12 else { return spent }
    return spent + (Double(fields[11]) ?? 0) / 100 + (Double(fields[12]) ?? 0) / 100
  }

  /// The most memory that any of its processes had, in MB.
  var peak: Double { (peaks + [memory("VmHWM")]).max() ?? 0 }

  /// In MB.
  func memory(_ name: String = "VmRSS") -> Double {
    Double(Machine.memory(name, of: "\(process.processIdentifier)")) / 1_048_576
  }
}

/// Asks for `/health`, over a connection for each time, as orchestrators and load balancers do.
final class HealthProbe: @unchecked Sendable {
  private let times = Locked((all: [(at: Duration, milliseconds: Double)](), failed: 0, isOver: false))
  private let (address, port): (UInt32, UInt16)

  init(address: UInt32 = 0x7f00_0001, port: UInt16) { (self.address, self.port) = (address, port) }

  func start(every pause: Duration) {
    Thread.detachNewThread { [self] in
      // The load shares its core.
      setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, -15)
      while !times.withLock({ $0.isOver }) {
        let begin = Uptime.now
        let isAnswered = ask()
        let time = Uptime.now - begin
        times.withLock { times in
          if isAnswered { times.all.append((begin, time / .milliseconds(1))) } else { times.failed += 1 }
        }
        let rest = max(.zero, pause - time)
        usleep(UInt32(rest / .microseconds(1)))
      }
    }
  }

  /// Returns the times of the answers, and how many questions had none.
  func end() -> (times: [Double], failed: Int) {
    times.withLock { times in
      times.isOver = true
      return (times.all.map(\.milliseconds), times.failed)
    }
  }

  private func ask() -> Bool {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(socket, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    (address.sin_port, address.sin_addr.s_addr) = (port.bigEndian, self.address.bigEndian)
    let isConnected = withUnsafeBytes(of: &address) {
      connect(
        socket, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
    }
    let request = Array("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
    guard isConnected, send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
      return false
    }
    var answer = [UInt8](repeating: 0, count: 1024)
    let count = recv(socket, &answer, answer.count, 0)
    return count > 12 && String(decoding: answer[..<12], as: UTF8.self) == "HTTP/1.1 200"
  }
}
#endif
