#if Programs
import Dispatch
import HandstampSupport
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine

@Suite(.timeLimit(.minutes(10))) struct `The lines of an agent` {
  @Test func `are dropped and counted while nothing reads them`() {
    let reader = DispatchSemaphore(value: 0)
    let lines = Locked([String]())
    let log = AgentLog { line in
      reader.wait()
      lines.withLock { $0.append(line) }
    }
    for number in 0..<(AgentLog.limit + 7) { log.say("\(number)") }
    for _ in 0...AgentLog.limit { reader.signal() }
    log.flush()
    let printed = lines.withLock { $0 }
    #expect(printed.count == AgentLog.limit + 1)
    #expect(printed.first == "0" && printed.last == "\(AgentLog.limit - 1)")
    #expect(printed.dropFirst().first?.hasPrefix("7 lines lost") == true, "\(printed.prefix(3))")
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A refusal of the agent` {
  @Test(
    arguments: [
      (0, .failure), (126, .failure), (127, .failure), (3, .failure), (-1, .failure), (4, .signInNeeded), (6, .network),
      (64, .usage),
    ] as [(Int32, ExitReason)])
  func `never looks like success, nor like a program of exec`(status: Int32, exit: ExitReason) {
    var problem = AgentProblem(CommandError(.failure, "no", hint: "none"))
    problem.exitStatus = status
    #expect(problem.refusal.exit == exit)
  }
}
#endif
