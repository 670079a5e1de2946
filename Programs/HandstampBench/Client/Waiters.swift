#if Programs
import Handstamp
import HandstampTesting

/// Measures many concurrent callers with an expired token: one refresh serves all of them, and its cost besides the server's
/// time.
struct Waiters {
  private let count = 10_000
  private let delay: Duration = .milliseconds(20)
  private let rounds = 9
  /// Refreshes only on demand.
  private let policy = SessionPolicy(refresh: RefreshPolicy(usesTimer: false))

  @concurrent func measure(into report: inout Report) async throws {
    let answering = try await Sessions.controller(life: .seconds(3600), backend: Sessions.silent)
    var without: [Double] = []
    var with: [Double] = []
    for _ in 0..<rounds {
      without.append(try await ask(answering).inMilliseconds)
      with.append(try await refresh().inMilliseconds)
    }
    let name = "\(count.formatted) waiters"
    report.add(
      "client", "\(name), one refresh of \(delay.inMilliseconds.figure) ms", with.median, "ms",
      target: .atMost(1.1 * (delay.inMilliseconds + without.median)),
      note: "creates and awaits all tasks; median of \(rounds), best \((with.min() ?? 0).figure)")
    report.add("client", "\(name), no refresh due", without.median, "ms", note: "the same tasks, for comparison")
  }

  private func refresh() async throws -> Duration {
    let backend = ScriptedBackend { [delay] call, _, _ in
      try? await Task.sleep(for: delay)
      return .granted(Sessions.grant(call, session: nil))
    }
    let controller = try await Sessions.controller(life: .zero, backend: backend, policy: policy)
    let time = try await ask(controller)
    guard backend.calls.count == 1 else { throw BenchError("there were \(backend.calls.count) refreshes, not one") }
    return time
  }

  /// Uses unstructured tasks, because a task group's overhead for so many children would dominate.
  private func ask(_ controller: SessionController) async throws -> Duration {
    try await Timing.once {
      let tasks = (0..<count).map { _ in Task.detached { try await controller.token() } }
      let token = try await tasks[0].value
      for task in tasks where try await task.value != token { throw BenchError("there were several tokens, not one") }
    }
  }
}
#endif
