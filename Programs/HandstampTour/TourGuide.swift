#if Operator && DEBUG
import Foundation
import Handstamp

@testable import HandstampCommand
@testable import HandstampCommandLine

/// Runs the steps in order, and cleans up.
struct TourGuide: Sendable {
  var keep: Bool

  /// Runs the tour. Returns whether every step succeeded.
  func run() async throws -> Bool {
    let folder = NSTemporaryDirectory() + "handstamp-tour-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(
      atPath: folder + "/logs", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let server = ServerProcess(folder: folder + "/server", logs: folder + "/logs")
    defer {
      server.abandon()
      try? FileManager.default.removeItem(atPath: folder)
    }
    let proxy = Proxy()
    return try await withThrowingTaskGroup(of: Bool?.self) { group in
      group.addTask {
        try await proxy.run()
        return nil
      }
      group.addTask { try await lead(in: folder, server, proxy) }
      defer { group.cancelAll() }
      for try await result in group { if let result { return result } }
      throw CancellationError()
    }
  }

  private func lead(in folder: String, _ server: ServerProcess, _ proxy: Proxy) async throws -> Bool {
    let start = ContinuousClock.now
    let address = try await within(.seconds(240), "the wire") { try await proxy.address.value() }
    proxy.lead(to: try await server.start(accessTokenLife: "2s"))
    let stage = TourFixture(
      folder: folder, server: server, proxy: proxy, address: try ServerAddress(parsing: address))
    Terminal.out("server in process \(server.id ?? 0) with a fresh database; all traffic goes through \(address)")
    var rows = [["", "STEP", "RESULT", "TIME"]]
    var failed = false
    for (index, step) in Step.all.enumerated() {
      guard !failed else {
        rows.append(["\(index + 1)", step.title, "not reached", ""])
        continue
      }
      Terminal.out("\n\(index + 1)  \(step.title)")
      let begin = ContinuousClock.now
      do {
        let result = try await within(.seconds(600), step.title) { try await step.run(stage) }
        rows.append(["\(index + 1)", step.title, result, (ContinuousClock.now - begin).inMilliseconds])
      } catch let error where !Task.isCancelled {
        failed = true
        let why = (error as? SessionError).map { CommandError($0, server: stage.address).message } ?? "\(error)"
        Terminal.out("     FAILED: \(why)")
        for line in server.log().split(separator: "\n").suffix(8) { Terminal.out("     server: \(line)") }
        rows.append(["\(index + 1)", step.title, "FAILED", (ContinuousClock.now - begin).inMilliseconds])
      }
    }
    Terminal.out("")
    for line in Table(rows: rows).lines { Terminal.out(line) }
    Terminal.out(
      "\n\(failed ? "a step failed" : "all steps passed"), \((ContinuousClock.now - start).words)"
    )
    if keep, !failed { try await stay(stage) }
    try? await server.stop()
    return !failed
  }

  /// Keeps everything running until the program is interrupted.
  private func stay(_ stage: TourFixture) async throws {
    guard let address = stage.server.address else { return }
    let home = Home(path: stage.folder + "/kept")
    let child = try Child(
      ["login", stage.email, "--server", address], variables: ["HANDSTAMP_HOME": home.path],
      input: stage.password + "\n")
    _ = try await child.outcome()
    Terminal.out(
      """

      server    \(address)
      account   \(stage.email), password \(stage.password)
      try       export HANDSTAMP_HOME=\(home.path) PATH=\(URL(fileURLWithPath: try Child.path()).deletingLastPathComponent().path):$PATH
                handstamp status; handstamp token; handstamp sessions
      """)
    Terminal.say("hint: press ctrl-c to stop and remove everything")
    // Waits for the interrupt.
    try? await OneShot<Void>().value()
  }
}
#endif
