#if Programs
import Foundation
import HandstampServer

/// Measures `handstamp token` from a cold start: a real process, a real vault and a valid token, without any request to the
/// server.
struct ColdStart {
  let folder: String
  private let rounds = 20

  private var command: String? {
    let path = Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent("handstamp").path
    return path.flatMap { FileManager.default.isExecutableFile(atPath: $0) ? $0 : nil }
  }

  @concurrent func measure(into report: inout Report) async throws {
    guard let command else {
      report.notes.append(
        "cold start of handstamp token: skipped, because the command is not built next to this program"
          + " (scripts/dev build --release)")
      return
    }
    let home = folder + "/home"
    try await ServerUnderTest.run(in: folder + "/home-server") { server in
      try signUp(command, home: home, at: server.url)
    }
    // The server has stopped: the measured command must not need it.
    var times: [Double] = []
    var bare: [Double] = []
    for _ in 0...rounds {
      times.append(try askToken(command, home).inMilliseconds)
      bare.append(try Program("/bin/true").run().time.inMilliseconds)
    }
    // The first run of each finds cold caches.
    report.add(
      "command", "handstamp token, cold start", Array(times.dropFirst()).median, "ms",
      note: "from start to exit of the process; median of \(rounds); /bin/true: "
        + "\(Array(bare.dropFirst()).median.figure) ms")
  }

  private func signUp(_ command: String, home: String, at url: String) throws {
    var program = Program(command, "signup", "bench@example.org", "--server", url)
    program.environment = ["HANDSTAMP_HOME": home]
    program.input = "a password of this run alone \(UInt64.random(in: 0 ... .max))\n"
    let end = try program.run()
    guard end.code == 0 else { throw BenchError("handstamp signup exited with \(end.code)") }
  }

  private func askToken(_ command: String, _ home: String) throws -> Duration {
    var program = Program(command, "token")
    program.environment = ["HANDSTAMP_HOME": home]
    let end = try program.run()
    guard end.code == 0, end.output.split(separator: ".").count == 3 else {
      throw BenchError("handstamp token exited with \(end.code)")
    }
    return end.time
  }
}
#endif
