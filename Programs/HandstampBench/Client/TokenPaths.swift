#if Programs
import Handstamp
import HandstampSupport

/// Measures the cost of every request: the header, and a token that is available at once.
struct TokenPaths {
  private let batches = 51
  private let count = 20_000

  @concurrent func measure(into report: inout Report) async throws {
    let controller = try await Sessions.controller(life: .seconds(3600), backend: Sessions.silent)
    let how = "one thread, median of \(batches) batches of \(count.formatted)"
    var length = 0
    let header = await Timing.nanoseconds(batches: batches, of: count) { count in
      for _ in 0..<count { length &+= controller.authorizationHeader == nil ? 0 : 1 }
    }
    guard length == (batches + 1) * count else { throw BenchError("the header is missing") }
    let held = Locked<String?>(controller.authorizationHeader)
    let copy = await Timing.nanoseconds(batches: batches, of: count) { count in
      for _ in 0..<count { length &+= held.withLock { $0 } == nil ? 0 : 1 }
    }
    report.add("client", "authorizationHeader", header, "ns", target: .atMost(2.7 * copy), note: how)
    report.add("client", "lock and copy of a text only", copy, "ns", note: "part of authorizationHeader")
    let token = try await Timing.nanoseconds(batches: batches, of: count) { count in
      for _ in 0..<count { length &+= try await controller.token().secret.count }
    }
    let clock = SystemClock()
    let reading = await Timing.nanoseconds(batches: batches, of: count) { count in
      for _ in 0..<count { length &+= clock.uptime() > .zero ? 1 : 0 }
    }
    report.add(
      "client", "token(), no refresh due", token, "ns", target: .atMost(2 * (reading + header)),
      note: how + ", including the clock")
    let limited = try await Sessions.controller(
      life: .seconds(3600), backend: Sessions.silent, policy: SessionPolicy(idleLimit: .seconds(900)))
    let activity = await Timing.nanoseconds(batches: batches, of: count) { count in
      for _ in 0..<count { limited.updateSessionActivity() }
    }
    report.add("client", "updateSessionActivity()", activity, "ns", target: .atMost(100), note: how)
    report.add("client", "system clock only", reading, "ns", note: "part of token()")
  }
}

extension Int {
  /// The number with separators.
  var formatted: String { Double(self).figure }
}
#endif
