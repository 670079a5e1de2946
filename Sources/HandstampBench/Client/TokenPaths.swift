#if Programs
import Handstamp
import HandstampCore

/// What every request pays: the header, and the token when nothing has to be waited for.
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
    guard length == (batches + 1) * count else { throw BenchFault("there was no header") }
    report.add("client", "authorizationHeader", header, "ns", target: .atMost(50), note: how)
    let token = try await Timing.nanoseconds(batches: batches, of: count) { count in
      for _ in 0..<count { length &+= try await controller.token().secret.count }
    }
    report.add(
      "client", "token(), no refresh due", token, "ns", target: .atMost(150), note: how + ", system clock included")
    let clock = SystemClock()
    let reading = await Timing.nanoseconds(batches: batches, of: count) { count in
      for _ in 0..<count { length &+= clock.uptime() > .zero ? 1 : 0 }
    }
    let limited = try await Sessions.controller(
      life: .seconds(3600), backend: Sessions.silent, policy: SessionPolicy(idleLimit: .seconds(900)))
    let activity = await Timing.nanoseconds(batches: batches, of: count) { count in
      for _ in 0..<count { limited.updateSessionActivity() }
    }
    report.add("client", "updateSessionActivity()", activity, "ns", target: .atMost(100), note: how)
    report.add("client", "the system clock alone", reading, "ns", note: "a part of token()")
  }
}

extension Int {
  /// With separators.
  var formatted: String { Double(self).figure }
}
#endif
